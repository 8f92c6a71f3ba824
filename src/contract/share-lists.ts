/**
 * The lists of a share file: the messages and deliveries that were recorded, found by the same
 * filters and parameters as in the Hookyard that wrote it.
 */

import { measureJson } from "../domain/json.ts";
import {
  chipKeys,
  durationOf,
  keyOf,
  nameTest,
  numberTest,
  parseFilter,
  problemOf,
  timeOf,
  wordsOf,
  type FilterKey,
} from "../domain/message-filter.ts";
import { invalid, isProblem, type Problem } from "../domain/problem.ts";
import type { InputOf } from "./contract.ts";
import {
  deliverySummary,
  type DeliveryDetailsAnswer,
  type DeliverySummaryAnswer,
  type ListedDeliveryAnswer,
} from "./deliveries.ts";
import type { MessageSummaryAnswer } from "./messages.ts";
import { bytesOf, type RecordedBytes } from "./shapes.ts";

type ListInput = InputOf<"messages.list">;
type Bytes = RecordedBytes | null | undefined;
type Delivery = DeliveryDetailsAnswer;
/** As far as lists read it. */
type Details = {
  raw: Bytes;
  deliveries: Delivery[];
};
/** What is known of a row without its details, which are read when something asks for them. */
type Shared = { row: MessageSummaryAnswer; line: () => string; details: () => Details };
type Test = (shared: Shared) => boolean;

/** What names and times in a filter mean in this file. */
type Names = {
  now: number;
  sources: readonly { id: string; name: string }[];
  destinations: readonly {
    id: string;
    name: string;
    webhooks: readonly { id: string; url: string }[];
  }[];
};

type Recorded = {
  rows: readonly MessageSummaryAnswer[];
  /** The details of a message, as JSON. */
  lineOf: (id: string) => string;
  names: () => Names;
};

export function createShareLists({ rows, lineOf, names }: Recorded) {
  const all = rows.map((row): Shared => {
    const line = (): string => lineOf(row.id);
    return { row, line, details: () => detailsIn(line()) };
  });
  let deliveries: ListedDeliveryAnswer[] | null = null;
  return {
    messages(input: ListInput) {
      const test = testOf(input, names());
      if (isProblem(test)) return test;
      const found = test === null ? rows : all.filter(test).map(({ row }) => row);
      const from = input.cursor === undefined ? 0 : placeAfter(found, input.cursor);
      return pageFrom(found, from, input.limit, ({ id }) => id);
    },
    deliveries({ order, state, destinationId, cursor, limit }: InputOf<"deliveries.list">) {
      const isDue = order === "due";
      if (isDue && state !== "waiting")
        return invalid("order: Only waiting deliveries have a due time. Add `state: waiting`.");
      deliveries ??= deliveriesOf(all);
      const found = deliveries.filter(
        (each) =>
          (state ?? each.state) === each.state &&
          (destinationId ?? each.destinationId) === each.destinationId,
      );
      const placeOf = ({ id, nextAttemptAt }: ListedDeliveryAnswer): string =>
        isDue ? `${nextAttemptAt}/${id}` : id;
      const compare = (a: string, b: string): number => (a < b ? -1 : 1) * (isDue ? 1 : -1);
      found.sort((a, b) => compare(placeOf(a), placeOf(b)));
      const isBefore = (each: ListedDeliveryAnswer): boolean =>
        cursor !== undefined && (placeOf(each) === cursor || compare(placeOf(each), cursor) < 0);
      return pageFrom(found, found.filter(isBefore).length, limit, placeOf);
    },
  };
}

/** Details are checked when they are shown. Whoever made the file by hand may have written anything. */
function detailsIn(line: string): Details {
  let read: Partial<Details>;
  try {
    read = Object(JSON.parse(line)) as Partial<Details>;
  } catch {
    read = {};
  }
  return {
    raw: read.raw,
    deliveries: objectsIn(read.deliveries).map((delivery) => ({
      ...delivery,
      attempts: objectsIn(delivery.attempts),
    })),
  };
}

const objectsIn = <Item>(list: readonly Item[] | undefined): Item[] =>
  Array.isArray(list) ? list.filter((each) => typeof each === "object" && each !== null) : [];

function pageFrom<Item>(
  found: readonly Item[],
  from: number,
  limit = 50,
  placeOf: (item: Item) => string,
) {
  const items = found.slice(from, from + limit);
  const last = items.at(-1);
  const nextCursor =
    last !== undefined && from + items.length < found.length ? placeOf(last) : null;
  return { items, nextCursor, total: found.length, totalCapped: false };
}

/** Each once: every message of a batch has it. */
function deliveriesOf(all: readonly Shared[]): ListedDeliveryAnswer[] {
  const rowOf = new Map(all.map(({ row }) => [row.id, row]));
  const found = new Map<string, ListedDeliveryAnswer>();
  for (const { details } of all)
    for (const delivery of details().deliveries) {
      if (found.has(delivery.id)) continue;
      const { type, event, userId, anonymousId } = rowOf.get(delivery.messageRowId) ?? noRow;
      const summary = Object.fromEntries(
        Object.keys(deliverySummary.shape).map((name) => [name, delivery[name as keyof Delivery]]),
      ) as DeliverySummaryAnswer;
      const marks = marksOfRounds(delivery.attempts);
      found.set(delivery.id, { ...summary, type, event, userId, anonymousId, marks });
    }
  return [...found.values()];
}

const noRow = { type: null, event: null, userId: null, anonymousId: null };

/** Of each round the successful attempt, else the longest. */
function marksOfRounds(attempts: Delivery["attempts"]): ListedDeliveryAnswer["marks"] {
  const made = attempts.toSorted(
    (a, b) => a.round - b.round || (a.startedAt < b.startedAt ? -1 : 1),
  );
  const weight = ({ outcome, durationMs }: Delivery["attempts"][number]): number =>
    outcome === "success" ? Infinity : durationMs;
  return [...Map.groupBy(made, ({ round }) => round)].map(([round, [first, ...more]]) => {
    const one = first as Delivery["attempts"][number];
    const shown = more.reduce((most, each) => (weight(each) > weight(most) ? each : most), one);
    return { round, startedAt: one.startedAt, outcome: shown.outcome };
  });
}

/** The newest message is the first, unless somebody made the file by hand. */
function placeAfter(rows: readonly MessageSummaryAnswer[], cursor: string): number {
  const own = rows.findIndex(({ id }) => id === cursor);
  if (own !== -1) return own + 1;
  const next = rows.findIndex(({ id }) => id < cursor);
  return next === -1 ? rows.length : next;
}

type Marks = MessageSummaryAnswer["marks"];

/** Rows are checked when they are listed, and compared before that. */
const marksOf = ({ marks }: { marks: readonly (Marks[number] | null)[] }): Marks =>
  marks.filter((mark) => mark !== null);

/** Parameters that ask what a key of the filter asks. */
const parameters = [
  ["sourceId", "source"],
  ["type", "type"],
  ["state", "state"],
  ["userId", "user"],
  ["event", "event"],
  ["reason", "reason"],
  ["status", "status"],
  ["attempts", "attempts"],
  ["plan", "plan"],
] as const satisfies [keyof ListInput, FilterKey][];

/** The filter and the parameters, on what was recorded: the same ones find the same messages. */
function testOf(input: ListInput, names: Names): Test | Problem | null {
  const filter = parseFilter(input.filter ?? "");
  const wrong = problemOf(filter);
  if (wrong !== null) return invalid(wrong);
  const { all, none } = wordsOf(filter.text);
  const anyOf = (key: FilterKey, values: readonly string[]): Test => {
    const any = values.map((value) => valueTest(key, value, names));
    return (shared) => any.some((test) => test(shared));
  };
  const not =
    (test: Test): Test =>
    (shared) =>
      !test(shared);
  const tests = chipKeys.flatMap((chip): Test[] => {
    const values = filter.values[chip];
    if (values === undefined) return [];
    const test = anyOf(keyOf(chip), values);
    return [chip.startsWith("-") ? not(test) : test];
  });
  for (const [name, key] of parameters) {
    const asked = input[name];
    if (asked === undefined) continue;
    if (filter.values[key] !== undefined) return namedTwice(name);
    tests.push(anyOf(key, [asked].flat()));
  }
  if (input.search !== undefined) {
    if (all.length > 0) return namedTwice("search");
    all.push(input.search);
  }
  tests.push(...all.map((word) => wordTest(word, names)));
  tests.push(...none.map((word) => not(wordTest(word, names))));
  return tests.length === 0 ? null : (shared) => tests.every((test) => test(shared));
}

const namedTwice = (name: string): Problem =>
  invalid(`${name}: Name it as a parameter or in the filter, not in both.`);

/** Found in what a list shows of a message, in its bytes as received, and in its payloads. */
function wordTest(word: string, { sources }: Names): Test {
  const pattern = anyCase(word);
  const has = (text: unknown): boolean => typeof text === "string" && pattern.test(text);
  const from = new Set(sources.filter(({ name }) => has(name)).map(({ id }) => id));
  // As it stands in a line, where everything is escaped.
  const inLine = anyCase(JSON.stringify(word).slice(1, -1));
  return ({ row, line, details }) => {
    const { type, state, event, reason, messageId, userId, anonymousId, sourceId } = row;
    if ([type, state, event, reason, messageId, userId, anonymousId].some(has)) return true;
    if (from.has(sourceId)) return true;
    if (marksOf(row).some(({ outcome, status }) => has(outcome) || String(status) === word))
      return true;
    const text = line();
    if (!inLine.test(text) && !text.includes('{"base64":')) return false;
    const { raw, deliveries } = details();
    return has(textOf(raw)) || deliveries.some((delivery) => has(sentOf(delivery, row.id)));
  };
}

/** As a Hookyard searches its data. Not `RegExp.escape`: a page opens in older browsers too. */
const anyCase = (text: string): RegExp =>
  new RegExp(text.replaceAll(/[\\^$.*+?()[\]{}|/]/g, "\\$&"), "iu");

/** What was sent of one message: of a batch its item, which is unknown once others were removed. */
function sentOf({ payload, messages }: Delivery, id: string): string {
  const text = textOf(payload);
  if (!Array.isArray(messages) || messages.length === 0) return text;
  const bytes = new TextEncoder().encode(`{"batch":${text}}`);
  const { batch } = measureJson(bytes);
  const item = batch?.length === messages.length ? batch[messages.indexOf(id)] : undefined;
  return item === undefined ? "" : new TextDecoder().decode(bytes.subarray(item.start, item.end));
}

function textOf(body: Bytes): string {
  if (typeof body === "string") return body;
  try {
    return new TextDecoder().decode(bytesOf(body as RecordedBytes));
  } catch {
    return "";
  }
}

function valueTest(key: FilterKey, value: string, { now, sources, destinations }: Names): Test {
  switch (key) {
    case "state":
    case "type":
    case "reason":
      return ({ row }) => row[key] === value;
    case "event": {
      const isMeant = nameTest(value);
      return ({ row }) => typeof row.event === "string" && isMeant(row.event);
    }
    case "user":
      return ({ row }) => row.userId === value || row.anonymousId === value;
    case "plan":
      return ({ row }) => (row.plan ?? "none") === value;
    case "attempts": {
      const isMeant = numberTest(value);
      return ({ row }) => isMeant(row.attempts);
    }
    case "status": {
      const wanted = value.toLowerCase();
      const isMeant = numberTest(wanted);
      return wanted.startsWith("last=")
        ? ({ row }) => row.lastStatus !== null && isMeant(row.lastStatus)
        : ({ row }) => marksOf(row).some(({ status }) => status !== null && isMeant(status));
    }
    case "outcome":
      return ({ row }) => marksOf(row).some(({ outcome }) => outcome === value);
    case "source": {
      const ids = idsOf(sources, value, nameTest(value));
      return ({ row }) => ids.has(row.sourceId);
    }
    case "destination": {
      const ids = idsOf(destinations, value, nameTest(value));
      return ({ details }) =>
        details().deliveries.some(({ destinationId }) => ids.has(destinationId));
    }
    case "webhook": {
      const urls = destinations.flatMap(({ webhooks }) =>
        webhooks.map(({ id, url }) => ({ id, name: url })),
      );
      const wanted = value.toLowerCase();
      const ids = idsOf(urls, value, (url) => url.toLowerCase().includes(wanted));
      return ({ details }) =>
        details().deliveries.some(({ attempts }) =>
          attempts.some(({ webhookId }) => ids.has(webhookId)),
        );
    }
    case "last": {
      const from = now - (durationOf(value) ?? 0);
      return ({ row }) => Date.parse(row.receivedAt) >= from;
    }
    case "since": {
      const from = timeOf(value, now) ?? 0;
      return ({ row }) => Date.parse(row.receivedAt) >= from;
    }
    case "until": {
      const end = timeOf(value, now) ?? 0;
      return ({ row }) => Date.parse(row.receivedAt) < end;
    }
    // A file does not say which messages came in one request.
    case "batch":
      return ({ row }) => row.id === value;
  }
}

function idsOf(
  things: readonly { id: string; name: string }[],
  value: string,
  isMeant: (name: string) => boolean,
): Set<unknown> {
  const found = things.filter(({ id, name }) => id === value || isMeant(name));
  return new Set<unknown>([value, ...found.map(({ id }) => id)]);
}
