/** What the calls of audiences and of computed traits have in common. */

import type { LastSyncAnswer } from "../../contract/audiences.ts";
import { destinationIds, type DestinationId } from "../../domain/ids.ts";
import { invalid, type Problem } from "../../domain/problem.ts";
import type { Audience } from "../../engine/profile-ports.ts";
import { presentTime } from "../presenters.ts";

/** The members that are given, as the engine takes them. */
export function computedChangesFrom<Input extends { destinationIds?: string[] | undefined }>({
  destinationIds: texts,
  ...changes
}: Input): (Omit<Input, "destinationIds"> & { destinationIds?: DestinationId[] }) | Problem {
  if (texts === undefined) return changes;
  const ids: DestinationId[] = [];
  for (const [index, text] of texts.entries()) {
    const id = destinationIds.parse(text);
    if (id === null) return invalid(`destinationIds[${index}]: there is no destination ${text}.`);
    ids.push(id);
  }
  return { ...changes, destinationIds: ids };
}

export function presentLastSync(sync: Audience["lastSync"]): LastSyncAnswer {
  return sync === null ? null : { ...sync, at: presentTime(sync.at) };
}
