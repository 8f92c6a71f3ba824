/** From what a user wrote in the filter to what the API is asked; what cannot be asked becomes a sentence. */

import type { InputOf } from "../../../contract/contract.ts";
import { statusPattern } from "../../../domain/http-status.ts";
import { messageStates, messageTypes, type MessageState, type MessageType } from "../../../domain/states.ts";
import type { Filter } from "./filter-text.ts";

export type ListFilter = Omit<InputOf<"messages.list">, "limit" | "cursor">;

type NamedSource = { id: string; name: string };

/** No source has this id, so a filter for a source that is not there finds nothing. */
const noSource = "src_000000000";

export function listFilterOf({ values, text }: Filter, sources: readonly NamedSource[]): ListFilter {
  const sourceIds = values.source?.flatMap((value) => {
    const named = sources.filter(({ id, name }) => id === value || sameText(name, value)).map(({ id }) => id);
    return named.length === 0 ? [noSource] : named;
  });
  return {
    ...(values.type === undefined ? {} : { type: values.type.filter(isType) }),
    ...(values.state === undefined ? {} : { state: values.state.filter(isState) }),
    ...(values.user === undefined ? {} : { userId: [...values.user] }),
    ...(values.event === undefined ? {} : { event: [...values.event] }),
    ...(sourceIds === undefined ? {} : { sourceId: sourceIds }),
    ...(values.status === undefined ? {} : { status: values.status.map((value) => value.toLowerCase()) }),
    ...(values.attempts === undefined ? {} : { attempts: [...values.attempts] }),
    ...(values.reason === undefined ? {} : { reason: [...values.reason] }),
    ...(text === "" ? {} : { search: text }),
  };
}

/** What stands in the way of asking, or null. */
export function problemOf({ values }: Filter): string | null {
  const type = values.type?.find((value) => !isType(value));
  if (type !== undefined) return `There is no type “${type}”. The types are ${messageTypes.join(", ")}.`;
  const state = values.state?.find((value) => !isState(value));
  if (state !== undefined) return `There is no state “${state}”. The states are ${messageStates.join(", ")}.`;
  const status = values.status?.find((value) => !statusPattern.test(value.toLowerCase()));
  if (status !== undefined) return `“${status}” is not a status. Write one such as 503, or 5xx for all of its hundred.`;
  const attempts = values.attempts?.find((value) => !/^(?:[<>]=?)?\d{1,6}$/.test(value));
  if (attempts !== undefined) return `“${attempts}” is not a number of attempts. Write 3, >3, >=3, <3 or <=3.`;
  return null;
}

/** What happens to a message after it came can make it match, or match no more. */
export function matchesLater({ values }: Filter): boolean {
  return values.state !== undefined || values.status !== undefined || values.attempts !== undefined || values.reason !== undefined;
}

function isType(value: string): value is MessageType {
  return (messageTypes as readonly string[]).includes(value);
}

function isState(value: string): value is MessageState {
  return (messageStates as readonly string[]).includes(value);
}

function sameText(a: string, b: string): boolean {
  return a.toLowerCase() === b.toLowerCase();
}
