/** The tools for messages: send one, wait for some, find some, and explain or retry what failed. */

import { randomUUID } from "node:crypto";
import { z } from "zod";
import type { AnswerOf } from "../../contract/contract.ts";
import type { MessageDetailsAnswer, MessageSummaryAnswer } from "../../contract/messages.ts";
import { filterKeys, type FilterKey } from "../../domain/message-filter.ts";
import { isSettled, messageStates, outcomes, planStates } from "../../domain/states.ts";
import { Answer, facts, plainOr, quoted } from "../answer.ts";
import { explainMessage, messageLine } from "../message-text.ts";
import { defineTool, refused, type ToolContext, waitFor } from "../tool.ts";

export const timeoutMs = z
  .int()
  .min(0)
  .max(60_000)
  .default(10_000)
  .describe("How long to wait, in milliseconds of real time.");

const members = z.record(z.string(), z.unknown());

const sendAndWait = defineTool({
  name: "send_and_wait",
  title: "Send a message and wait for its result",
  description:
    "Sends one call to the ingest port, as a client library does, waits until it is delivered, fails or waits for a retry, and explains the result. Use it to reproduce a case, and after a fix to see that it works.",
  effect: "changes",
  schema: z.strictObject({
    type: z.enum(["track", "identify", "page", "screen", "group", "alias"]).default("track"),
    event: z.string().optional().describe("The event of a track."),
    name: z.string().optional().describe("The name of a page or screen."),
    userId: z.string().optional(),
    anonymousId: z.string().optional(),
    groupId: z.string().optional(),
    previousId: z.string().optional().describe("Of an alias."),
    messageId: z.string().optional().describe("Drawn when left out."),
    properties: members.optional(),
    traits: members.optional(),
    context: members.optional(),
    integrations: members.optional().describe('Such as {"Webhooks": false}.'),
    sourceId: z.string().optional().describe("src_…; the first source when left out."),
    timeoutMs,
  }),
  async run({ sourceId, type, timeoutMs: waitMs, ...call }, context) {
    const from = sourceId ?? (await firstSource(context.call));
    if (from === null) return noSource();
    const messageId = call.messageId || `mcp-${randomUUID()}`;
    const newest = await context.call("messages.list", { sourceId: from, limit: 1 });
    const before = newest.items[0]?.id ?? "";
    const sent = await context.call("sources.send", {
      id: from,
      type,
      body: JSON.stringify({ ...call, messageId }),
    });
    const answer = new Answer();
    if (sent.status !== 200)
      answer
        .say(`The ingest port answered ${sent.status}.`)
        .data([`answer=${quoted(sent.body, 400)}`]);
    const message = await sentMessage({ messageId, sourceId: from, before }, context);
    // A request that could not be read, such as a deep one, is on record with another messageId.
    const isOurs = message?.messageId === messageId || sent.status !== 200 || !call.messageId;
    if (message === null || !isOurs)
      return answer
        .say("No message is on record: the request was refused as a whole.")
        .next("why_not_delivered", {}, "looks for refused requests and faults of sources");
    return explained(answer, message.id, waitMs, context);
  },
});

/** The newest one since `before` with the messageId, else the newest rejected one that contains it. */
async function sentMessage(
  { messageId, sourceId, before }: { messageId: string; sourceId: string; before: string },
  { call }: ToolContext,
): Promise<MessageSummaryAnswer | null> {
  let rejected: MessageSummaryAnswer | null = null;
  let cursor: string | null | undefined;
  // Others may send meanwhile, and a short messageId is a part of many texts.
  while (cursor !== null) {
    const page: AnswerOf<"messages.list"> = await call("messages.list", {
      ...{ search: messageId, sourceId, limit: 50 },
      ...(cursor === undefined ? {} : { cursor }),
    });
    const since = page.items.filter(({ id }) => id > before);
    const found = since.find((one) => one.messageId === messageId);
    if (found !== undefined) return found;
    rejected ??= since.find(({ state }) => state === "rejected") ?? null;
    cursor = since.length < page.items.length ? null : page.nextCursor;
  }
  return rejected;
}

const noSource = (): Answer =>
  new Answer()
    .say("There is no source to send from.")
    .next("configure", { kind: "source", changes: { name: "App" } }, "creates a source");

/** Of a client: an audience's own source is none. Of all, or of those with these ids. */
export async function firstSource(
  call: ToolContext["call"],
  ids?: readonly string[],
): Promise<string | null> {
  const { items } = await call("sources.list", {});
  const found = items.find(({ id, kind }) => kind !== "audience" && (ids?.includes(id) ?? true));
  return found?.id ?? null;
}

/** Waits until nothing of the message moves by itself, and explains it. */
export async function explained(
  answer: Answer,
  id: string,
  waitMs: number,
  context: ToolContext,
): Promise<Answer> {
  const read = (): Promise<MessageDetailsAnswer> => context.call("messages.get", { id });
  const [{ items: destinations }, { items: endpoints }] = await Promise.all([
    context.call("destinations.list", {}),
    context.call("endpoints.list", {}),
  ]);
  const isPaused = (destinationId: string): boolean =>
    destinations.some((one) => one.id === destinationId && !one.enabled);
  const rested = await waitFor(context, waitMs, async () => {
    const message = await read();
    const moves = message.deliveries.some(
      ({ state, destinationId }) =>
        !isSettled(state) &&
        state !== "waiting" &&
        !(state === "queued" && isPaused(destinationId)),
    );
    return moves ? null : message;
  });
  explainMessage(answer, rested ?? (await read()), { destinations, endpoints });
  return answer;
}

const waitForMessages = defineTool({
  name: "wait_for_messages",
  title: "Wait for messages that match a filter",
  description:
    "Waits until so many messages match, for example those that your program sends meanwhile, and lists them. The filter is that of find_messages.",
  effect: "reads",
  schema: z.strictObject({
    filter: z.string().describe('Such as `state:delivered user:u_1 event:"Order Completed"`.'),
    count: z.int().min(1).max(10_000).default(1),
    timeoutMs,
  }),
  async run({ filter, count, timeoutMs: waitMs }, context) {
    const list = () => context.call("messages.list", { filter, limit: 10 });
    const found = await waitFor(context, waitMs, async () => {
      const page = await list();
      return page.total >= count ? page : null;
    });
    const page = found ?? (await list());
    const answer = new Answer().say(
      found === null ? `Timeout: ${page.total} of ${count} messages match.` : `${matchesIn(page)}.`,
    );
    answer.data(page.items.map(messageLine));
    if (found === null) answer.next("why_not_delivered", {}, "finds out what is in the way");
    return answer;
  },
});

type Counted = { total: number; totalCapped: boolean };

const countIn = ({ total, totalCapped }: Counted): string =>
  `${totalCapped ? "At least " : ""}${total}`;
const matchesIn = (page: Counted): string =>
  `${countIn(page)} ${page.total === 1 ? "message matches" : "messages match"}`;

/** Of keys whose values cannot be guessed. */
const knownValues: Partial<Record<FilterKey, string>> = {
  state: messageStates.join(", "),
  status: "503, 5xx, >=500",
  outcome: outcomes.join(", "),
  plan: planStates.join(", "),
};
const describedKeys = filterKeys
  .map((key) => (knownValues[key] === undefined ? key : `${key} (${knownValues[key]})`))
  .join(", ");

const findMessages = defineTool({
  name: "find_messages",
  title: "Find messages",
  description: `Lists messages, newest first. The filter is a text of keys and words: \`state:failed,expired -type:track event:"Order Completed" user:u_1 last:5m refund\`. Keys: ${describedKeys}. A \`-\` in front leaves out what matches.`,
  effect: "reads",
  schema: z.strictObject({
    filter: z.string().default(""),
    limit: z.int().min(1).max(50).default(10),
    cursor: z.string().optional().describe("Of the answer before."),
  }),
  async run({ filter, limit, cursor }, { call }) {
    const page = await call("messages.list", {
      limit,
      ...(filter === "" ? {} : { filter }),
      ...(cursor === undefined ? {} : { cursor }),
    });
    const answer = new Answer()
      .say(`${matchesIn(page)}, newest first.`)
      .data(page.items.map(messageLine));
    const [first] = page.items;
    if (first !== undefined) answer.next("show", { id: first.id }, "the newest one");
    if (page.nextCursor !== null)
      answer.say(`More: repeat the call with cursor ${page.nextCursor}.`);
    return answer;
  },
});

const whyNotDelivered = defineTool({
  name: "why_not_delivered",
  title: "Explain why something was not delivered",
  description:
    "With the id of a message or delivery: each cause with its fix. Without an id: everything that is in the way: refused requests, unknown write keys, faults, disabled destinations, and the newest messages that were not delivered. Start here when something does not arrive.",
  effect: "reads",
  schema: z.strictObject({
    id: z.string().optional().describe("msg_… or dlv_…"),
  }),
  async run({ id }, context) {
    if (id === undefined) return whatIsInTheWay(context);
    const message = id.startsWith("dlv_")
      ? (await context.call("deliveries.get", { id })).messageRowId
      : id;
    return explained(new Answer(), message, 0, context);
  },
});

async function whatIsInTheWay({ call }: ToolContext): Promise<Answer> {
  const answer = new Answer();
  const [stats, clock, keys, refusedRequests, sources, destinations] = await Promise.all([
    call("stats.get", {}),
    call("clock.get", {}),
    call("unknownKeys.list", {}),
    call("refused.list", {}),
    call("sources.list", {}),
    call("destinations.list", {}),
  ]);
  if (stats.trouble !== null)
    answer
      .say("The data file has a trouble, and nothing is accepted.")
      .data([quoted(stats.trouble)]);
  if (stats.deliveryTrouble !== null)
    answer.say("Nothing is sent to destinations.").data([quoted(stats.deliveryTrouble, 400)]);
  const undeliveredOnes = await call("messages.list", { filter: "-state:delivered", limit: 5 });
  if (undeliveredOnes.items.length > 0) {
    answer
      .say(`${countIn(undeliveredOnes)} messages are not delivered. The newest:`)
      .data(undeliveredOnes.items.map(messageLine));
    for (const { id } of undeliveredOnes.items.slice(0, 2))
      answer.next("why_not_delivered", { id }, "explains this message");
  }
  for (const { writeKey, requests } of keys.items.slice(0, 3)) {
    answer
      .say(`Cause: unknown_write_key. ${requests} requests are kept for a key that no source has.`)
      .data([facts({ writeKey })])
      .say(
        "Fix: Correct the key in your program, or adopt it: the kept requests are then accepted.",
      )
      .next(
        "configure",
        {
          kind: "unknown_key",
          id: plainOr(writeKey, "the write key in the data above"),
          changes: { name: "App" },
        },
        "creates a source with this key",
      );
  }
  for (const { code, count, message, advice, line } of refusedRequests.items.slice(0, 3))
    answer
      .say(
        `Cause: ${code}. The ingest port refused ${count} ${count === 1 ? "request" : "requests"}.`,
      )
      .data([facts({ message, advice, line })]);
  for (const { id, faults } of sources.items)
    if (faults.length > 0)
      answer
        .say(`Cause: fault. The source ${id} has ${faults.length} faults: they spoil its requests.`)
        .next("configure", { kind: "source", id, changes: { faults: [] } }, "ends the faults");
  for (const { id, enabled } of destinations.items)
    if (!enabled) answer.say(`The destination ${id} is disabled.`);
  if (clock.mode === "paused" && clock.nextDueAt !== null)
    answer
      .say(`Cause: paused. The clock is paused, and retries are due from ${clock.nextDueAt}.`)
      .next("advance_clock", { to: "idle" }, "runs them now");
  if (stats.messages.total === 0)
    answer
      .say("No message has arrived.")
      .next("overview", {}, "shows the address and the write keys to send with");
  else if (undeliveredOnes.items.length === 0) answer.say("Every accepted message is delivered.");
  return answer;
}

const retry = defineTool({
  name: "retry",
  title: "Retry or replay",
  description:
    "Retries now a delivery (dlv_…), the deliveries of a message (msg_…), or those of the newest 10,000 messages that match a filter. With `replay`, sends the message again as a new one: for messages that had no delivery. Waits for the result of one message and explains it.",
  effect: "changes",
  schema: z.strictObject({
    id: z.string().optional().describe("msg_… or dlv_…"),
    filter: z.string().optional().describe("In place of an id, as in find_messages."),
    replay: z.boolean().default(false).describe("Of one message: as a new message."),
    timeoutMs,
  }),
  async run({ id, filter, replay, timeoutMs: waitMs }, context) {
    const { call } = context;
    if ((id === undefined) === (filter === undefined))
      return refused("invalid", "Give either an id or a filter.");
    if (id === undefined) {
      const job = await call("messages.retryAll", { filter });
      return new Answer()
        .say(`${job.count} deliveries are retried now.`)
        .next("find_messages", { filter: "-state:delivered" }, "what is still not delivered");
    }
    const message = id.startsWith("dlv_")
      ? (await call("deliveries.get", { id })).messageRowId
      : id;
    if (replay) {
      const { id: copy } = await call("messages.replay", { id: message });
      return explained(new Answer().say(`Sent again as ${copy}.`), copy, waitMs, context);
    }
    if (id.startsWith("dlv_")) await call("deliveries.retry", { id });
    else {
      const job = await call("messages.retryAll", { ids: [id] });
      if (job.count === 0)
        return new Answer()
          .say("The message has no delivery that can be retried.")
          .next("retry", { id, replay: true }, "sends it again as a new message");
    }
    return explained(new Answer(), message, waitMs, context);
  },
});

export const messageTools = [sendAndWait, waitForMessages, findMessages, whyNotDelivered, retry];
