/** What is being typed for each destination. */

import { draftStore } from "../../stores/drafts.ts";
import type { DestinationDraft } from "./destination-draft.ts";

/** The draft of the destination that does not exist yet. */
export const newDestination = "new";

export const useDrafts = draftStore<DestinationDraft>();
