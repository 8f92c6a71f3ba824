/**
 * A share file: what a Hookyard answered at one moment, as lines of JSON, compressed. The first line
 * says what it is, the second has the answers about everything that is configured, then come two
 * lines for each message: its row in a list and its details. It is a record: whoever opens it reads,
 * and nothing is sent.
 *
 * Hosts and the page read it alike; this file knows neither compression nor files.
 */

import { z } from "zod";
import { isProblem, problem, type Problem } from "../domain/problem.ts";
import { checkInput } from "./call.ts";
import { callNamed, type AnswerOf, type InputOf } from "./contract.ts";
import { listedDelivery } from "./deliveries.ts";
import { sentenceOf } from "./issues.ts";
import { messageDetails, messageSummary, type MessageSummaryAnswer } from "./messages.ts";
import { damaged, larger, maxSharedMessages } from "./share-limits.ts";
import { createShareLists } from "./share-lists.ts";

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
  const lists = createShareLists({
    rows,
    lineOf: (id) => rest[lineOf.get(id) ?? -1] ?? "",
    names: () => ({
      now: Date.parse((known["clock.get"] as { now: string }).now),
      sources: (known["sources.list"] as AnswerOf<"sources.list">).items,
      destinations: (known["destinations.list"] as AnswerOf<"destinations.list">).items,
    }),
  });
  const page = (
    body: { items: readonly unknown[] } | Problem,
    schema: z.ZodType,
  ): RecordedAnswer => {
    if (isProblem(body)) return refusal(body);
    const why = wrong(z.array(schema), body.items);
    return why === null ? { status: 200, body } : refusal(damaged(why));
  };
  return {
    head: head.data,
    call(name, input) {
      const asked = callNamed(name);
      const checked = asked === undefined ? input : checkInput(asked, input);
      if (isProblem(checked)) return refusal(checked);
      if (name === "messages.list")
        return page(lists.messages(input as InputOf<"messages.list">), messageSummary);
      if (name === "deliveries.list")
        return page(lists.deliveries(input as InputOf<"deliveries.list">), listedDelivery);
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
