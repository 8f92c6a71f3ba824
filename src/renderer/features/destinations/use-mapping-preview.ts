/** What a mapping that is being typed makes of the newest messages, and which mapping is open. */

import { useSyncExternalStore } from "react";
import type { AnswerOf, InputOf } from "../../../contract/contract.ts";
import { useLast, useLive, useOnce } from "../../stores/live-data.ts";
import { usePlace } from "../../stores/place.ts";
import type { DestinationDraft } from "./destination-draft.ts";
import { mappingInput } from "./mapping-draft.ts";
import { useDebounced } from "../../kit/use-debounced.ts";

export type Preview = AnswerOf<"mappings.preview">;

type Previewed = { draft: DestinationDraft; destinationId: string | undefined };

/** The place of the open mapping. The address keeps it, and the message that is shown. */
export function useOpenMapping({ mappings }: DestinationDraft): number {
  const asked = Number(usePlace((place) => place.query["mapping"]) ?? 1) - 1;
  return mappings[asked] === undefined ? 0 : asked;
}

/**
 * The answer for one mapping. That of the open one follows the messages that come in; a count of
 * the others does not, because each answer reads a hundred messages.
 */
export function useMappingPreview({ draft, destinationId }: Previewed, place: number) {
  const isOpen = useOpenMapping(draft) === place;
  const message = usePlace(({ query }) => query["message"]);
  const mapping = draft.mappings[place];
  const { sourceIds, sharedSecret } = draft;
  const asked: InputOf<"mappings.preview"> | null =
    mapping === undefined
      ? null
      : {
          // Its name and its switch change nothing that is shown.
          mapping: { ...mappingInput(mapping), name: "Preview", enabled: true },
          sourceIds,
          ...(sharedSecret === undefined ? {} : { sharedSecret }),
          ...(destinationId === undefined ? {} : { destinationId }),
          ...(isOpen && message !== undefined ? { id: message } : {}),
        };
  const { value } = useDebounced(asked);
  const live = useLive("mappings.preview", isOpen ? value : null);
  const once = useOnce("mappings.preview", isOpen ? null : value);
  const { answer, error } = isOpen ? live : once;
  return { preview: useLast(answer), error };
}

/** There, the preview is a tab. */
const narrow = "(max-width: 1199px)";

export function useIsNarrow(): boolean {
  return useSyncExternalStore(
    (listener) => {
      const query = window.matchMedia(narrow);
      query.addEventListener("change", listener);
      return () => query.removeEventListener("change", listener);
    },
    () => window.matchMedia(narrow).matches,
  );
}
