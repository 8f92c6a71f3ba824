/** Checks what a user wrote about a simulated client, and fills in what was left out. */

import type { SimulatedClient } from "../../domain/configuration.ts";
import { sourceIds } from "../../domain/ids.ts";
import { invalid, type Problem } from "../../domain/problem.ts";
import type { ClientDraft, Configuration } from "../pipeline.ts";

/** More than a batch of 500 KB can hold. */
const mostMessages = 10_000;
const longestMs = 86_400_000;
const longestText = 2_000;

type CheckedClient = Omit<SimulatedClient, "id" | "createdAt">;

export function checkClient(
  draft: Partial<ClientDraft>,
  before: SimulatedClient | null,
  configuration: Pick<Configuration, "source">,
): CheckedClient | Problem {
  const { sourceId, name = before?.name ?? "" } = draft;
  if (name.trim() === "") return invalid("A client needs a name.");
  if (sourceId !== undefined && draft.writeKey !== undefined) return invalid("A client has the key of a source or a write key, not both.");
  const source = sourceId === undefined ? undefined : configuration.source(sourceId);
  if (sourceId !== undefined && source === undefined) return invalid(`There is no source ${sourceIds.format(sourceId)} to send as.`);
  const writeKey = source?.writeKey ?? draft.writeKey ?? before?.writeKey;
  if (writeKey === undefined) return invalid("A client needs a source, or a write key: pass sourceId or writeKey.");
  const { flushAt = before?.flushAt ?? 20, flushAfter = before?.flushAfter ?? 5000 } = draft;
  if (!(Number.isInteger(flushAt) && flushAt >= 1 && flushAt <= mostMessages)) {
    return invalid(`flushAt is a whole number of messages, 1 to ${mostMessages}.`);
  }
  if (!(Number.isInteger(flushAfter) && flushAfter >= 1 && flushAfter <= longestMs)) {
    return invalid(`flushAfter is a whole number of milliseconds, 1 to ${longestMs}.`);
  }
  const endpoint = draft.endpoint === undefined ? (before?.endpoint ?? null) : draft.endpoint;
  if (endpoint !== null && !isHttp(endpoint)) {
    return invalid("endpoint must be a full http or https URL, such as http://127.0.0.1:4700, or null for Hookyard's own ingest port.");
  }
  if (Math.max(name.length, writeKey.length, endpoint?.length ?? 0) > longestText) {
    return invalid(`The name, the write key and the endpoint have at most ${longestText} characters each.`);
  }
  const { wire = before?.wire ?? "v2.1", strict = before?.strict ?? true } = draft;
  return { name, writeKey, wire, flushAt, flushAfter, endpoint, strict };
}

function isHttp(text: string): boolean {
  const url = URL.parse(text);
  return url !== null && /^https?:$/.test(url.protocol);
}
