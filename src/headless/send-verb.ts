/** `hookyard send`: from flags or standard input to the ingest port, as any client sends. */

import { randomUUID } from "node:crypto";
import type { AnswerOf } from "../contract/contract.ts";
import { isWrittenNumber, parseAsWritten } from "../domain/written-json.ts";
import { ask, textOf } from "./ask.ts";
import type * as commands from "./commands.ts";
import { type Connection, NoHookyard } from "./connect.ts";
import { isLoopback } from "./serve-flags.ts";
import { WrongInput, type Asked } from "./verb-command.ts";

/** As it is sent; ingest rejects a messageId that is no string. */
type Draft = { messageId: unknown; text: string };

const flagMembers = {
  event: "event",
  user: "userId",
  anonymous: "anonymousId",
  name: "name",
  group: "groupId",
  previous: "previousId",
  properties: "properties",
  traits: "traits",
  integrations: "integrations",
} as const;

export async function send(
  asked: Asked<typeof commands.send> & { input: () => Promise<string> },
): Promise<number> {
  const { hookyard, values, print, say } = asked;
  const { drafts, envelope } = await given(asked);
  const source = await sourceFor(hookyard, values.source, say);
  const about = await hookyard.call("about.get", {});
  const ingestUrl = ingestFrom(hookyard.uiUrl, about.ingestUrl);
  const reasons = new Map<number, Rejection>();
  let rejectedCount = 0;
  let first = 0;
  const around = JSON.stringify({ ...envelope, writeKey: source.writeKey }).slice(0, -1);
  for (const batch of batchesOf(drafts, Buffer.byteLength(around))) {
    const answer = await post(ingestUrl, `${around},"batch":[${batch.join(",")}]}`);
    if (answer === null) {
      say(
        "Ingest closed the connection without an answer: the messages may have arrived. A fault of the source can cause this.",
      );
      return 1;
    }
    if (answer.status < 200 || answer.status > 299) {
      say(`Ingest answered ${answer.status}: ${sentenceIn(answer.body)}`);
      return 1;
    }
    const { rejected, count } = rejectedIn(answer.body);
    for (const one of rejected) reasons.set(first + one.index, one);
    rejectedCount += count;
    first += batch.length;
  }
  const sent = await sentMessages({ hookyard, source, drafts, reasons });
  const rejected = [...sent.entries()].filter(([, { state }]) => state === "rejected");
  print(
    { sourceId: source.id, messages: sent },
    sent.map(({ id, messageId, state }) => `${id ?? messageId}  ${state ?? "sent"}`).join("\n"),
  );
  for (const [index, { messageId, reason }] of rejected) {
    const why = reasons.get(index)?.message;
    say(`${messageId} was rejected${why === undefined ? `: ${reason}.` : `, ${reason}: ${why}`}`);
  }
  const others = rejectedCount - rejected.length;
  if (others > 0) say(`${others} more were rejected. hookyard messages state:rejected lists them.`);
  return rejected.length === 0 && others <= 0 ? 0 : 1;
}

/** Null when the connection ended without a whole answer. */
async function post(
  ingestUrl: string,
  body: string,
): Promise<{ status: number; body: string } | null> {
  const headers = { "Content-Type": "application/json" };
  try {
    const answer = await ask(`${ingestUrl}/v1/batch`, { method: "POST", headers, body });
    return { status: answer.statusCode ?? 0, body: await textOf(answer) };
  } catch (error) {
    const { syscall } = error as NodeJS.ErrnoException;
    // Several addresses of a host name were tried.
    const isUnreachable = syscall === "connect" || error instanceof AggregateError;
    if (isUnreachable || syscall === "getaddrinfo")
      throw new NoHookyard(`Nothing answers at ${ingestUrl}, where ingest is.`);
    return null;
  }
}

/** A Hookyard in a container or on another machine names its own loopback, not that of the caller. */
export function ingestFrom(uiUrl: string, ingestUrl: string): string {
  const [ui, ingest] = [new URL(uiUrl), new URL(ingestUrl)];
  const isOwn = ({ hostname }: URL): boolean => isLoopback(hostname.replaceAll(/[[\]]/g, ""));
  if (isOwn(ui) || !isOwn(ingest)) return ingestUrl;
  ingest.hostname = ui.hostname;
  return ingest.origin;
}

type Rejection = { index: number; reason: string; message?: string };

/** What ingest says of a batch, unless its source answers as the hosted service does. */
function rejectedIn(answer: string): { rejected: readonly Rejection[]; count: number } {
  const { rejected = [], rejectedCount = rejected.length } = JSON.parse(answer) as {
    rejected?: Rejection[];
    rejectedCount?: number;
  };
  return { rejected, count: rejectedCount };
}

/** The envelope is what a batch says beside its messages: `context`, `integrations`, `sentAt`. */
type Given = { drafts: Draft[]; envelope: object };

async function given({
  values,
  positionals: [type, ...more],
  input,
}: Asked<typeof commands.send> & { input: () => Promise<string> }): Promise<Given> {
  if (more.length > 0)
    throw new WrongInput(`hookyard send takes one type, not ${more.join(" ")} as well.`);
  const members: Record<string, unknown> = {};
  for (const [flag, member] of Object.entries(flagMembers)) {
    const text = values[flag as keyof typeof flagMembers];
    if (text === undefined) continue;
    const isJson = flag === "properties" || flag === "traits" || flag === "integrations";
    members[member] = isJson ? jsonIn(text, `--${flag}`) : text;
  }
  if (type !== undefined) return { drafts: [draftOf({ type, ...members }, 0)], envelope: {} };
  if (Object.keys(members).length > 0)
    throw new WrongInput("Say which call: hookyard send track --event … --user …");
  const { messages, envelope } = messagesIn(await input());
  if (messages.length === 0)
    throw new WrongInput(
      "hookyard send needs a type such as track, or messages on standard input.",
    );
  return { drafts: messages.map(draftOf), envelope };
}

/** With a messageId where ingest would make one, so that the message is found afterwards. */
function draftOf(given: object, index: number): Draft {
  const { messageId: own } = given as { messageId?: unknown };
  const messageId = own === undefined || own === null || own === "" ? randomUUID() : own;
  try {
    return { messageId, text: JSON.stringify({ ...given, messageId }) };
  } catch {
    throw new WrongInput(`Message ${index + 1} is nested too deeply.`);
  }
}

/** Numbers go out as they were written. */
function jsonIn(text: string, where: string): unknown {
  try {
    return parseAsWritten(text);
  } catch (error) {
    if (error instanceof RangeError) throw new WrongInput(`${where} is nested too deeply.`);
    throw new WrongInput(`${where} is not valid JSON: ${(error as Error).message}.`);
  }
}

const isObject = (value: unknown): value is object =>
  typeof value === "object" && value !== null && !Array.isArray(value) && !isWrittenNumber(value);

/** One as JSON, a batch, a list, or one on each line. */
function messagesIn(text: string): { messages: object[]; envelope: object } {
  const trimmed = text.trim();
  if (trimmed === "") return { messages: [], envelope: {} };
  let whole: unknown;
  try {
    whole = parseAsWritten(trimmed);
  } catch (error) {
    const lines = trimmed.split(/\r?\n/);
    if (lines.length === 1 || error instanceof RangeError) jsonIn(trimmed, "Standard input");
    whole = lines.flatMap((line, index) =>
      line.trim() === "" ? [] : [jsonIn(line, `Line ${index + 1} of standard input`)],
    );
  }
  const { batch: list, ...envelope } =
    isObject(whole) && "batch" in whole ? whole : { batch: whole };
  const all = Array.isArray(list) ? (list as unknown[]) : [list];
  const wrong = all.findIndex((one) => !isObject(one));
  if (wrong !== -1)
    throw new WrongInput(`Message ${wrong + 1} of standard input is not a JSON object.`);
  return { messages: all as object[], envelope };
}

/**
 * Below the limits of a request: 2,500 messages and 500 KB. What is around them counts for each:
 * ingest gives each message a copy.
 */
function* batchesOf(drafts: readonly Draft[], around: number): Iterable<string[]> {
  let batch: string[] = [];
  let size = 0;
  for (const { text } of drafts) {
    const length = Buffer.byteLength(text) + 1 + around;
    if (batch.length === 2000 || (batch.length > 0 && size + length > 400_000)) {
      yield batch;
      batch = [];
      size = 0;
    }
    batch.push(text);
    size += length;
  }
  yield batch;
}

async function sourceFor(
  hookyard: Connection,
  wanted: string | undefined,
  say: (sentence: string) => void,
): Promise<{ id: string; writeKey: string }> {
  const list = async () =>
    (await hookyard.call("sources.list", {})).items.filter(({ kind }) => kind !== "audience");
  let items = await list();
  if (items.length === 0 && wanted === undefined) {
    await hookyard.call("workspaces.open", { kind: "first" });
    say("There was no source, so Hookyard created one, with a destination and a test endpoint.");
    items = await list();
  }
  const source =
    wanted === undefined
      ? items[0]
      : items.findLast(({ id, name, writeKey }) => [id, name, writeKey].includes(wanted));
  if (source !== undefined) return source;
  const names = items.map(({ name }) => name).join(", ");
  throw new WrongInput(
    `There is no source ${wanted}. ${names === "" ? "There are none." : `There are ${names}.`}`,
  );
}

/** So many are searched for one by one, which takes long where there are many messages. */
const maxLookedUp = 100;

type Sent = {
  hookyard: Connection;
  source: { id: string };
  drafts: readonly Draft[];
  reasons: ReadonlyMap<number, Rejection>;
};
type Listed = AnswerOf<"messages.list">["items"];

/** As many as were sent, by their messageId, the newest first. */
async function newestOf(
  hookyard: Connection,
  sourceId: string,
  count: number,
): Promise<ReadonlyMap<unknown, Listed>> {
  const found = new Map<unknown, Listed>();
  let cursor: string | null | undefined;
  for (let seen = 0; cursor !== null && seen < count;) {
    const { items, nextCursor } = await hookyard.call("messages.list", {
      ...{ sourceId, limit: Math.min(200, count + 20) },
      ...(cursor === undefined ? {} : { cursor }),
    });
    for (const message of items) {
      const same = found.get(message.messageId);
      if (same === undefined) found.set(message.messageId, [message]);
      else same.push(message);
    }
    seen += items.length;
    cursor = nextCursor;
  }
  return found;
}

async function sentMessages({ hookyard, source, drafts, reasons }: Sent) {
  const newest = await newestOf(hookyard, source.id, drafts.length);
  const later = laterCountsOf(drafts);
  const sent: {
    messageId: string;
    id: string | null;
    state: string | null;
    reason: string | null;
  }[] = [];
  for (const [index, { messageId }] of drafts.entries()) {
    let items = newest.get(messageId) ?? [];
    // Others have sent so much meanwhile that it is not among the newest.
    if (items.length === 0 && index < maxLookedUp && typeof messageId === "string")
      items = (await hookyard.call("messages.list", { search: messageId, limit: 10 })).items.filter(
        (message) => message.messageId === messageId,
      );
    const found = items[later[index] ?? 0];
    const { id = null, state = null, reason = null } = found ?? {};
    const why = reasons.get(index)?.reason;
    sent.push({
      messageId: typeof messageId === "string" ? messageId : JSON.stringify(messageId),
      ...(found === undefined && why !== undefined
        ? { id, state: "rejected", reason: why }
        : { id, state, reason }),
    });
  }
  return sent;
}

/** How many drafts with the same messageId follow each one: the last of them is the newest. */
function laterCountsOf(drafts: readonly Draft[]): number[] {
  const seen = new Map<unknown, number>();
  return drafts
    .map(({ messageId }) => messageId)
    .toReversed()
    .map((messageId) => {
      const count = seen.get(messageId) ?? 0;
      seen.set(messageId, count + 1);
      return count;
    })
    .toReversed();
}

function sentenceIn(answer: string): string {
  try {
    const { message } = JSON.parse(answer) as { message?: string };
    return message ?? answer;
  } catch {
    return answer;
  }
}
