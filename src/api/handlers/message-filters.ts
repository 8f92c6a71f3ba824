/** A filter's text with the names and times of this pipeline, and the values that it may have. */

import {
  destinationIds,
  messageIds,
  sourceIds,
  webhookIds,
  type DestinationId,
  type MessageRowId,
  type SourceId,
  type WebhookId,
} from "../../domain/ids.ts";
import {
  type ChipKey,
  durationOf,
  type Filter,
  type FilterKey,
  isOutcome,
  isPlanState,
  isState,
  isType,
  parseFilter,
  problemOf,
  timeOf,
  wordsOf,
  nameTest,
} from "../../domain/message-filter.ts";
import { invalid, type Problem } from "../../domain/problem.ts";
import type { Pipeline } from "../../engine/pipeline.ts";
import type { MessageFilter } from "../../engine/ports.ts";

/** No row has it: a filter for a name that nothing has finds nothing. */
const nobody = 0;

type Names = Pick<Pipeline, "configuration" | "clock">;

export function messageFilterOf(text: string, pipeline: Names): MessageFilter | Problem {
  const filter = parseFilter(text);
  const { now } = pipeline.clock.state();
  const problem = problemOf(filter);
  if (problem !== null) return invalid(problem);
  const { all, none } = wordsOf(filter.text);
  const { values } = filter;
  const [last] = values.last ?? [];
  const [since] = values.since ?? [];
  const [until] = values.until ?? [];
  const from = Math.max(
    last === undefined ? -Infinity : now - (durationOf(last) ?? 0),
    since === undefined ? -Infinity : (timeOf(since, now) ?? 0),
  );
  return {
    ...membersOf(filter, "", pipeline),
    ...(all.length === 0 ? {} : { search: all }),
    ...(from === -Infinity ? {} : { since: from }),
    ...(until === undefined ? {} : { until: timeOf(until, now) ?? 0 }),
    not: {
      ...membersOf(filter, "-", pipeline),
      ...(none.length === 0 ? {} : { search: none }),
    },
  };
}

/** All that a key asks; the free text is the caller's. */
type Members = Omit<NonNullable<MessageFilter["not"]>, "search">;

function membersOf({ values }: Filter, sign: "" | "-", { configuration }: Names): Members {
  const of = (key: FilterKey): readonly string[] | undefined => values[`${sign}${key}` as ChipKey];
  const named = <Id extends number>(
    key: FilterKey,
    things: () => readonly { id: Id; name: string }[],
    isNamed: (name: string, value: string) => boolean,
    parse: (text: string) => Id | null,
  ): Id[] | undefined =>
    of(key)?.flatMap((value) => {
      const id = parse(value);
      const found = things().filter((thing) => thing.id === id || isNamed(thing.name, value));
      return found.length === 0 ? [id ?? (nobody as Id)] : found.map((thing) => thing.id);
    });
  const webhooks = (): { id: WebhookId; name: string }[] =>
    configuration
      .destinations()
      .flatMap((destination) => destination.webhooks.map(({ id, url }) => ({ id, name: url })));
  const members = {
    type: of("type")?.filter(isType),
    state: of("state")?.filter(isState),
    userId: of("user"),
    event: of("event"),
    status: of("status")?.map((status) => status.toLowerCase()),
    outcome: of("outcome")?.filter(isOutcome),
    plan: of("plan")?.filter(isPlanState),
    attempts: of("attempts"),
    reason: of("reason"),
    batch: of("batch")?.map((id) => messageIds.parse(id) ?? (nobody as MessageRowId)),
    sourceId: named<SourceId>("source", () => configuration.sources(), isSame, sourceIds.parse),
    destinationId: named<DestinationId>(
      "destination",
      () => configuration.destinations(),
      isSame,
      destinationIds.parse,
    ),
    webhookId: named<WebhookId>("webhook", webhooks, contains, webhookIds.parse),
  } satisfies Record<keyof Members, unknown>;
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
}

const isSame = (name: string, value: string): boolean => nameTest(value)(name);
const contains = (name: string, value: string): boolean =>
  name.toLowerCase().includes(value.toLowerCase());

type Value = { key: FilterKey; value: string; count: number | null };

/** Keys whose values are suggested; of the others, anything may be written. */
const keysWithValues = [
  "event",
  "user",
  "state",
  "status",
  "outcome",
  "type",
  "source",
  "destination",
  "webhook",
  "attempts",
  "reason",
  "plan",
] as const satisfies readonly FilterKey[];
type KeyWithValues = (typeof keysWithValues)[number];

/** Of one key; without one, a few of each. */
const maxValues = 20;
const maxOfEach = 3;

/** Values that contain a text: first those that are it, then those that begin with it. */
export async function suggestedValues(
  { key, text }: { key: FilterKey | undefined; text: string },
  pipeline: Pipeline,
): Promise<Value[]> {
  const wanted = text.toLowerCase();
  const of = async (each: KeyWithValues): Promise<Value[]> =>
    [...(await countsOf(each, text, pipeline))]
      .filter(([value]) => value.toLowerCase().includes(wanted))
      .map(([value, count]): Value => ({ key: each, value, count }))
      .toSorted(
        (a, b) =>
          rank(a.value, wanted) - rank(b.value, wanted) ||
          (b.count ?? 0) - (a.count ?? 0) ||
          (a.value < b.value ? -1 : 1),
      );
  if (key !== undefined) return isWithValues(key) ? (await of(key)).slice(0, maxValues) : [];
  const found: Value[] = [];
  for (const each of keysWithValues) found.push(...(await of(each)).slice(0, maxOfEach));
  return found;
}

const isWithValues = (key: FilterKey): key is KeyWithValues =>
  (keysWithValues as readonly FilterKey[]).includes(key);

function rank(value: string, wanted: string): number {
  const text = value.toLowerCase();
  return text === wanted ? 0 : text.startsWith(wanted) ? 1 : 2;
}

async function countsOf(
  key: KeyWithValues,
  text: string,
  { queries, configuration }: Pipeline,
): Promise<Map<string, number | null>> {
  switch (key) {
    case "event":
    case "reason":
    case "status":
    case "outcome":
    case "attempts":
    case "plan":
      return queries.messageValues(key);
    case "user":
      return queries.usersNamed(text, maxValues);
    case "state":
    case "type": {
      const { byState, byType } = queries.stats().messages;
      const counts = Object.entries(key === "state" ? byState : byType);
      return new Map(
        counts.filter(([value, n]) => n > 0 && (key === "state" ? isState : isType)(value)),
      );
    }
    case "source": {
      const counts = queries.messagesBySource();
      return summed(configuration.sources().map(({ id, name }) => [name, counts.get(id) ?? 0]));
    }
    case "destination":
      return summed(
        configuration
          .destinations()
          .map(({ id, name }) => [name, queries.deliveries({ destinationId: id }, 1, null).total]),
      );
    case "webhook":
      return new Map(
        configuration
          .destinations()
          .flatMap(({ webhooks }) => webhooks.map(({ url }) => [url, null] as const)),
      );
  }
}

/** Several may have one name. */
function summed(counts: [string, number][]): Map<string, number> {
  const sums = new Map<string, number>();
  for (const [name, n] of counts) sums.set(name, (sums.get(name) ?? 0) + n);
  return sums;
}
