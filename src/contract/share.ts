/**
 * A share file: what a Hookyard answered at one moment, as lines of JSON, compressed. The first line
 * says what it is, the second has the answers about everything that is configured, then come two
 * lines for each message: its row in a list and its details. It is a record: whoever opens it reads,
 * and nothing is sent.
 *
 * Hosts and the page read it alike; this file knows neither compression nor files.
 */

import { z } from "zod";
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
import { invalid, isProblem, problem, type Problem } from "../domain/problem.ts";
import { checkInput } from "./call.ts";
import { callNamed, type InputOf } from "./contract.ts";
import { sentenceOf } from "./issues.ts";
import { messageDetails, messageSummary, type MessageSummaryAnswer } from "./messages.ts";
import { damaged, larger, maxSharedMessages } from "./share-limits.ts";

const shareHead = z.object({
  hookyard: z.literal("share"),
  format: z.literal(1),
  version: z.string(),
  savedAt: z.string(),
  messages: z.int().min(0),
  secrets: z.boolean(),
  redacted: z.array(z.string()),
});
export type ShareHead = z.output<typeof shareHead>;

/** Calls without an input, answered as they were. */
export const sharedCalls = [
  "about.get",
  "stats.get",
  "flow.get",
  "clock.get",
  "settings.get",
  "sources.list",
  "destinations.list",
  "endpoints.list",
  "retryProfiles.list",
  "audiences.list",
  "computedTraits.list",
] as const;

type Recorded = { head: ShareHead; call(name: string, input: unknown): RecordedAnswer };
type RecordedAnswer = { status: number; body: unknown };

const foreign = problem(
  400,
  "not_a_share_file",
  "This is not a share file of Hookyard. hookyard share FILE writes one.",
);

/** Reads the lines of a share file; the details of a message only when it is opened. */
export function readShare(text: string): Recorded | Problem {
  // A file of empty lines has more of them than an array may have elements.
  const [first = "", second = "", ...rest] = text.split("\n", 2 + 2 * maxSharedMessages);
  const head = shareHead.safeParse(parsed(first));
  if (!head.success) {
    const newer = z.object({ hookyard: z.literal("share"), format: z.int() });
    return newer.safeParse(parsed(first)).success
      ? problem(
          400,
          "share_newer",
          "A newer Hookyard wrote this share file. Update this one to open it.",
        )
      : foreign;
  }
  const answers = parsed(second);
  if (typeof answers !== "object" || answers === null)
    return damaged("its second line is not JSON");
  const known = answers as Record<string, unknown>;
  for (const name of sharedCalls) {
    const schema = callNamed(name)?.answer;
    if (schema === undefined || !Object.hasOwn(known, name)) return damaged(`it has no ${name}`);
    const why = wrong(schema, known[name]);
    if (why !== null) return damaged(`what it says of ${name} is wrong: ${why}`);
  }
  const { messages } = head.data;
  if (messages > maxSharedMessages) return larger("10,000 messages");
  if (rest.length < 2 * messages)
    return damaged(`it ends before message ${Math.floor(rest.length / 2) + 1}`);
  const rows: MessageSummaryAnswer[] = [];
  const lineOf = new Map<string, number>();
  for (let place = 0; place < messages; place += 1) {
    const row = parsed(rest[2 * place] ?? "") as MessageSummaryAnswer | undefined;
    if (typeof row?.id !== "string" || !Array.isArray(row.marks))
      return damaged(`message ${place + 1} is not JSON`);
    // The id is the cursor behind a row.
    if (lineOf.has(row.id)) return damaged(`message ${place + 1} appears twice`);
    rows.push(row);
    lineOf.set(row.id, 2 * place + 1);
  }
  const namesOf = (): Names => ({
    now: Date.parse((known["clock.get"] as { now: string }).now),
    sources: (known["sources.list"] as { items: Names["sources"] }).items,
    destinations: (known["destinations.list"] as { items: Names["destinations"] }).items,
  });
  return {
    head: head.data,
    call(name, input) {
      const asked = callNamed(name);
      const checked = asked === undefined ? input : checkInput(asked, input);
      if (isProblem(checked)) return refusal(checked);
      if (name === "messages.list") {
        const body = listed(
          rows,
          input as ListInput,
          namesOf,
          (id) => rest[lineOf.get(id) ?? -1] ?? "",
        );
        if (isProblem(body)) return refusal(body);
        const why = wrong(z.array(messageSummary), body.items);
        return why === null ? { status: 200, body } : refusal(damaged(why));
      }
      if (name === "messages.get") {
        const { id } = input as { id: string };
        const details = parsed(rest[lineOf.get(id) ?? -1] ?? "");
        if (details === undefined)
          return refusal(
            problem(404, "not_found", `There is no message ${id} in this share file.`),
          );
        const why = wrong(messageDetails, details);
        return why === null ? { status: 200, body: details } : refusal(damaged(`${id}: ${why}`));
      }
      if (name === "about.get")
        return { status: 200, body: { ...(known[name] as object), shared: head.data.savedAt } };
      if (Object.hasOwn(known, name)) return { status: 200, body: known[name] };
      if (name.endsWith(".list") || name === "messages.values")
        return { status: 200, body: emptyPage };
      return refusal(readOnly);
    },
  };
}

/** Why an answer cannot be one. Whoever made the file by hand may have written anything. */
function wrong(schema: z.ZodType, answer: unknown): string | null {
  const { success, error } = schema.safeParse(answer);
  return success ? null : sentenceOf(error.issues).replace(/\.$/, "");
}

const emptyPage = { items: [], nextCursor: null, total: 0, totalCapped: false, dropped: 0 };

const readOnly = problem(
  409,
  "share_read_only",
  "This is a share file: it shows what happened, and changes and sends nothing.",
);

const refusal = ({ status, code, message }: Problem): RecordedAnswer => ({
  status,
  body: { code, message },
});

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

type ListInput = InputOf<"messages.list">;
type Details = { deliveries?: { destinationId?: unknown; attempts?: { webhookId?: unknown }[] }[] };
/** What is known of a row without its details, which are read when something asks for them. */
type Shared = { row: MessageSummaryAnswer; text: () => string; details: () => Details };
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

function listed(
  rows: readonly MessageSummaryAnswer[],
  { filter = "", cursor, limit = 50 }: ListInput,
  names: () => Names,
  textOf: (id: string) => string,
) {
  const test = filter === "" ? null : testOf(filter, names());
  if (test !== null && "problem" in test) return test;
  const found =
    test === null
      ? rows
      : rows.filter((row) => {
          const text = (): string => textOf(row.id);
          return test({ row, text, details: (): Details => parsed(text()) ?? {} });
        });
  const from = cursor === undefined ? 0 : placeAfter(found, cursor);
  const items = found.slice(from, from + limit);
  const more = from + items.length < found.length;
  return {
    items,
    nextCursor: more ? (items.at(-1)?.id ?? null) : null,
    total: found.length,
    totalCapped: false,
  };
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

/** The filter of the pipeline, on what was recorded: the same text finds the same messages. */
function testOf(text: string, names: Names): Test | Problem {
  const filter = parseFilter(text);
  const wrong = problemOf(filter);
  if (wrong !== null) return invalid(wrong);
  const tests = chipKeys.flatMap((chip): Test[] => {
    const values = filter.values[chip];
    if (values === undefined) return [];
    const any = values.map((value) => valueTest(keyOf(chip), value, names));
    return chip.startsWith("-")
      ? [(shared) => !any.some((test) => test(shared))]
      : [(shared) => any.some((test) => test(shared))];
  });
  const { all, none } = wordsOf(filter.text);
  const has = (word: string): Test => {
    const wanted = word.toLowerCase();
    return (shared) => shared.text().toLowerCase().includes(wanted);
  };
  tests.push(...all.map(has));
  tests.push(
    ...none.map(has).map(
      (test): Test =>
        (shared) =>
          !test(shared),
    ),
  );
  return (shared) => tests.every((test) => test(shared));
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
        (details().deliveries ?? []).some(({ destinationId }) => ids.has(destinationId));
    }
    case "webhook": {
      const urls = destinations.flatMap(({ webhooks }) =>
        webhooks.map(({ id, url }) => ({ id, name: url })),
      );
      const wanted = value.toLowerCase();
      const ids = idsOf(urls, value, (url) => url.toLowerCase().includes(wanted));
      return ({ details }) =>
        (details().deliveries ?? []).some(({ attempts = [] }) =>
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
