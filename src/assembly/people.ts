/** Who the users are, and what receivers learn of them: profiles, audiences, computed traits, deletions. */

import { createComputations } from "../engine/audiences/computations.ts";
import { createDeletions } from "../engine/deletions/deletions.ts";
import { createInternalMessages } from "../engine/ingest/internal-messages.ts";
import { Follower } from "../engine/profiles/follower.ts";
import { createProfiles } from "../engine/profiles/profiles.ts";
import { storeFailure } from "../engine/store-failure.ts";
import type { Core } from "./core.ts";

export function createPeople(core: Core, { accepted }: { accepted: () => Promise<void> }) {
  const { store, signals, activity, advanceWork } = core;
  const internalMessages = createInternalMessages({
    ...core,
    onCommitted: (messages) => signals.committed.emit(messages, activity.origin),
  });
  const follower = new Follower({ ...core, onApplied: signals.profilesChanged.emit });
  const caughtUp = (): Promise<void> => follower.caughtUp();
  const computations = createComputations({ ...core, internalMessages, caughtUp });
  const profiles = createProfiles({ ...core, follower, computed: computations });
  const deletions = createDeletions({ ...core, internalMessages, caughtUp: () => accepted().then(caughtUp) });

  advanceWork.trouble = () => store.trouble() ?? storeFailure(follower.failure);
  signals.profilesChanged.on((changes) => computations.onApplied(changes));
  signals.attemptsRecorded.on(() => follower.noteOthers());
  return { follower, profiles, computations, deletions };
}
