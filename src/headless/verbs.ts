/**
 * The commands that talk to the running Hookyard, and what they print. Each returns its exit code;
 * `verb-command.ts` runs them. What only some of them need is loaded by these: loading is most of
 * the time that a command takes.
 */

import type { AnswerOf } from "../contract/contract.ts";
import { deliveryIds, messageIds } from "../domain/ids.ts";
import { durationOf, parseFilter } from "../domain/message-filter.ts";
import { startTimer } from "../engine/real-time.ts";
import { inOneLine } from "../scenarios/file/in-one-line.ts";
import * as commands from "./commands.ts";
import type { Connection } from "./connect.ts";
import { WrongInput, type Asked, runVerb } from "./verb-command.ts";
import { tail } from "./tail-verb.ts";
import { detailsText, filterOf, messageLine } from "./verb-messages.ts";

/** Null when no command has this name. */
export async function runVerbNamed(name: string, args: readonly string[]): Promise<number | null> {
  switch (name) {
    case "apply":
      return runVerb(commands.apply, args, async (asked) =>
        (await import("./apply-verb.ts")).apply(asked),
      );
    case "send":
      return runVerb(commands.send, args, async (asked) =>
        (await import("./send-verb.ts")).send(asked),
      );
    case "tail":
      return runVerb(commands.tail, args, tail);
    case "wait":
      return runVerb(commands.wait, args, wait);
    case "messages":
      return runVerb(commands.messages, args, messages);
    case "show":
      return runVerb(commands.show, args, show);
    case "clock":
      return runVerb(commands.clock, args, clock);
    case "retry":
      return runVerb(commands.retry, args, retry);
    case "reset":
      return runVerb(commands.reset, args, reset);
    case "open":
      return runVerb(commands.open, args, open);
    default:
      return null;
  }
}

export async function messages(asked: Asked<typeof commands.messages>): Promise<number> {
  const { hookyard, values, print } = asked;
  const limit = Number(values.limit);
  if (!(Number.isInteger(limit) && limit >= 1 && limit <= 200))
    throw new WrongInput("--limit needs a number from 1 to 200.");
  const filter = await filterOf(asked);
  const page = await hookyard.call("messages.list", {
    filter,
    limit,
    ...(values.cursor === undefined ? {} : { cursor: values.cursor }),
  });
  const more =
    page.nextCursor === null
      ? ""
      : `\n${page.totalCapped ? "More than " : ""}${page.total} in all. Continue with --cursor ${page.nextCursor}`;
  print(
    page,
    page.items.length === 0 ? noneMatch(filter) : page.items.map(messageLine).join("\n") + more,
  );
  return 0;
}

/** What was searched for, as it was read. */
function noneMatch(filter: string): string {
  if (filter === "") return "No messages.";
  const { text } = parseFilter(filter);
  return `No message matches ${filter}.${text === "" || text === filter ? "" : ` “${text}” was searched as text.`}`;
}

export async function show({
  hookyard,
  positionals,
  print,
}: Asked<typeof commands.show>): Promise<number> {
  const [wanted, ...more] = positionals;
  if (wanted === undefined || more.length > 0)
    throw new WrongInput("hookyard show needs the id of one message.");
  const message = await hookyard.call("messages.get", { id: await rowIdOf(hookyard, wanted) });
  const { items } = await hookyard.call("destinations.list", {});
  print(message, detailsText(message, new Map(items.map(({ id, name }) => [id, name]))));
  return 0;
}

/**
 * A message is known by its id here, and by the messageId that its sender gave it: the newest one,
 * and a duplicate only when the message that came first is gone.
 */
async function rowIdOf(hookyard: Connection, wanted: string): Promise<string> {
  // A variable of a script that is empty would be looked for in every message.
  if (wanted.trim() === "") throw new WrongInput("An id must not be empty.");
  if (messageIds.parse(wanted) !== null) return wanted;
  let duplicate: string | undefined;
  let cursor: string | undefined;
  for (let pages = 0; pages < maxPages; pages += 1) {
    const page: AnswerOf<"messages.list"> = await hookyard.call("messages.list", {
      ...{ search: wanted, limit: 1000 },
      ...(cursor === undefined ? {} : { cursor }),
    });
    const same = page.items.filter(({ messageId }) => messageId === wanted);
    const found = same.find(({ state }) => state !== "duplicate");
    if (found !== undefined) return found.id;
    duplicate ??= same[0]?.id;
    if (page.nextCursor === null) return duplicate ?? wanted;
    cursor = page.nextCursor;
  }
  if (duplicate !== undefined) return duplicate;
  throw new WrongInput(
    `Too many messages contain “${inOneLine(wanted)}”, and it is the messageId of none of the newest. Name the message by its id, which begins with msg_.`,
  );
}

/** Of the messages that contain the text: a messageId is in few, a word may be in all. */
const maxPages = 20;

export async function wait(asked: Asked<typeof commands.wait>): Promise<number> {
  const { hookyard, values, print, say } = asked;
  const count = Number(values.count);
  if (!(Number.isInteger(count) && count >= 1 && count <= 10_000))
    throw new WrongInput("--count needs a number from 1 to 10000.");
  const timeoutMs = msIn(values.timeout);
  if (timeoutMs === null)
    throw new WrongInput("--timeout needs a duration such as 500ms, 30s or 5m.");
  if (timeoutMs > maxTimeoutMs) throw new WrongInput("--timeout must be at most 24 days.");
  const filter = await filterOf(asked);
  const list = () => hookyard.call("messages.list", { filter, limit: Math.min(count, 200) });
  const changes = await hookyard.changes();
  const reader = changes[Symbol.asyncIterator]();
  const timeIsUp = Promise.withResolvers<"up">();
  const timer = startTimer(timeoutMs, () => timeIsUp.resolve("up"));
  let page = await list();
  while (page.total < count) {
    const next = await Promise.race([reader.next(), timeIsUp.promise]);
    if (next === "up") break;
    page = await list();
  }
  timer.cancel();
  const isMet = page.total >= count;
  const { items, total } = page;
  print({ met: isMet, total, items }, items.map(messageLine).join("\n") || "No message matches.");
  if (isMet) return 0;
  say(
    `After ${values.timeout}, ${total} of ${count} messages match ${filter === "" ? "" : `${filter}. `}${await nearMisses(asked)}`.trim(),
  );
  return 4;
}

/** A longer timer would fire at once. */
const maxTimeoutMs = 24 * 86_400_000;

const msIn = (text: string): number | null =>
  /^\d{1,6}ms$/.test(text) ? Number.parseInt(text, 10) : durationOf(text);

/** What matches but for its state says most about why nothing does. */
async function nearMisses({ hookyard, values, positionals }: Asked<typeof commands.wait>) {
  if (values.state === undefined) return "";
  const filter = await filterOf({ hookyard, values: { ...values, state: undefined }, positionals });
  const { items } = await hookyard.call("messages.list", { filter, limit: 3 });
  if (items.length === 0) return "No message matches the rest either: check what was sent.";
  return `In another state:\n${items.map(messageLine).join("\n")}\nhookyard show ${items[0]?.id} says why. If a retry is due later, hookyard clock idle runs it now.`;
}

export async function clock({
  hookyard,
  positionals: [action, value, ...more],
  print,
  say,
}: Asked<typeof commands.clock>): Promise<number> {
  const answer = await moved(hookyard, action, value, more);
  const { now, mode, speed, nextDueAt } = answer;
  const runs =
    mode === "paused" ? "paused" : mode === "real" ? "real time" : `${speed} times faster`;
  const attempts = "ran" in answer ? answer.ran.attempts : null;
  const ran = attempts === null ? "" : `; ${attempts} attempt${attempts === 1 ? "" : "s"} made`;
  print(answer, `${now}  ${runs}${ran}; next due: ${nextDueAt ?? "nothing"}`);
  const endedEarly = "endedEarly" in answer ? answer.endedEarly : null;
  if (endedEarly === null) return 0;
  say(`The clock did not get there. ${endedEarly.message}`);
  return 1;
}

function moved(
  hookyard: Connection,
  action: string | undefined,
  value: string | undefined,
  more: readonly string[],
): Promise<AnswerOf<"clock.get"> | AnswerOf<"clock.advance">> {
  const takesValue = action === "advance" || action === "faster";
  if (more.length > 0 || (value !== undefined && !takesValue))
    throw new WrongInput(`hookyard clock does not know ${[value, ...more].join(" ")}.`);
  switch (action) {
    case undefined:
      return hookyard.call("clock.get", {});
    case "pause":
      return hookyard.call("clock.set", { mode: "paused" });
    case "real":
      return hookyard.call("clock.set", { mode: "real" });
    case "faster": {
      const speed = Number(value ?? 10);
      if (speed !== 10 && speed !== 60 && speed !== 600)
        throw new WrongInput("hookyard clock faster needs 10, 60 or 600.");
      return hookyard.call("clock.set", { mode: "faster", speed });
    }
    case "advance": {
      const byMs = msIn(value ?? "");
      if (byMs === null)
        throw new WrongInput("hookyard clock advance needs a duration such as 30s, 10m or 1h30m.");
      return hookyard.call("clock.advance", { byMs });
    }
    case "idle":
      return hookyard.call("clock.advance", { to: "idle" });
    case "next":
      return hookyard.call("clock.advance", { to: "next-due" });
    default:
      throw new WrongInput(
        `hookyard clock does not know ${action}. Use pause, real, faster, advance, idle or next.`,
      );
  }
}

export async function retry({
  hookyard,
  values,
  positionals,
  print,
}: Asked<typeof commands.retry>): Promise<number> {
  if ((positionals.length === 0) === (values.filter === undefined))
    throw new WrongInput("hookyard retry needs ids, or --filter with a filter.");
  if (values.filter?.trim() === "") throw new WrongInput("--filter needs a value.");
  const dryRun = values["dry-run"];
  const isDelivery = (id: string): boolean => deliveryIds.parse(id) !== null;
  let count = 0;
  for (const id of positionals.filter(isDelivery)) {
    const { state } = await hookyard.call(dryRun ? "deliveries.get" : "deliveries.retry", { id });
    if (!dryRun || (state !== "delivered" && state !== "sending")) count += 1;
  }
  const ids: string[] = [];
  for (const id of positionals) if (!isDelivery(id)) ids.push(await rowIdOf(hookyard, id));
  for (const id of ids) await hookyard.call("messages.get", { id });
  const asked =
    values.filter === undefined
      ? { ids }
      : { filter: await filterOf({ hookyard, values: {}, positionals: [values.filter] }) };
  if (ids.length > 0 || values.filter !== undefined)
    count += (await hookyard.call("messages.retryAll", { ...asked, dryRun })).count;
  print(
    { count },
    `${count} ${count === 1 ? "delivery" : "deliveries"} ${dryRun ? "can be retried" : "retried"}.`,
  );
  return 0;
}

async function reset({ hookyard, values, print }: Asked<typeof commands.reset>): Promise<number> {
  const what = values.everything ? "everything" : "messages";
  print(
    await hookyard.call("pipeline.reset", { what }),
    values.everything ? "Messages and configuration are removed." : "All messages are removed.",
  );
  return 0;
}

async function open({
  hookyard: { uiUrl, token },
  print,
  say,
}: Asked<typeof commands.open>): Promise<number> {
  const { openInspector } = await import("./open-inspector.ts");
  const { opened } = await openInspector({ uiUrl, token, say });
  if (!opened) return 1;
  print({ url: uiUrl }, `${uiUrl} is open in the browser.`);
  return 0;
}
