/** What the calls of audiences and of computed traits have in common. */

import { destinationIds, sourceIds, type DestinationId } from "../../domain/ids.ts";
import { isProblem, type Problem } from "../../domain/problem.ts";
import type { AudienceView } from "../../engine/profile-pipeline.ts";
import { idsFrom } from "../inputs.ts";
import { presentTime, presentTimeOrNull } from "../presenters.ts";

/** The members that are given, as the engine takes them. */
export function computedChangesFrom<Input extends { destinationIds?: string[] | undefined }>({
  destinationIds: texts,
  ...changes
}: Input): (Omit<Input, "destinationIds"> & { destinationIds?: DestinationId[] }) | Problem {
  if (texts === undefined) return changes;
  const ids = idsFrom(destinationIds, texts, (text, index) => `destinationIds[${index}]: there is no destination ${text}.`);
  return isProblem(ids) ? ids : { ...changes, destinationIds: ids };
}

type Common = Pick<AudienceView, "destinationIds" | "sourceId" | "lastSync" | "nextSyncAt" | "createdAt">;

export function presentComputed({ destinationIds: ids, sourceId, lastSync, nextSyncAt, createdAt }: Common) {
  return {
    destinationIds: ids.map(destinationIds.format),
    sourceId: sourceIds.format(sourceId),
    lastSync: lastSync === null ? null : { ...lastSync, at: presentTime(lastSync.at) },
    nextSyncAt: presentTimeOrNull(nextSyncAt),
    createdAt: presentTime(createdAt),
  };
}
