/** The tools that show: an overview of what is set up, and anything that has an id. */

import { z } from "zod";
import type { AnswerOf } from "../../contract/contract.ts";
import type { ReceivedRequestAnswer } from "../../contract/endpoints.ts";
import type { RecordedBytes } from "../../contract/shapes.ts";
import { fixes, adviceLanguages, type AdviceLanguage } from "../../domain/advice.ts";
import {
  headerPairsWithoutCredentials,
  urlWithoutCredentials,
  withoutCredentials,
} from "../../domain/credentials.ts";
import { Answer, facts, maxAnswerBytes, quoted, textLines } from "../answer.ts";
import { receiverFixes } from "../causes.ts";
import { attemptLine, messageLine } from "../message-text.ts";
import { defineTool, refused, type ToolContext } from "../tool.ts";

/** Of each kind of object in the overview. */
const maxListed = 8;
const maxShownChanges = 12;

const overview = defineTool({
  name: "overview",
  title: "What is set up and how it is going",
  description:
    "Addresses, the clock, counts, and the sources, destinations, test endpoints and audiences with their ids. Start here to learn where a program has to send to and with which write key.",
  effect: "reads",
  schema: z.strictObject({}),
  async run(_, { call }) {
    const [about, clock, stats, sources, destinations, endpoints, audiences, traits] =
      await Promise.all([
        call("about.get", {}),
        call("clock.get", {}),
        call("stats.get", {}),
        call("sources.list", {}),
        call("destinations.list", {}),
        call("endpoints.list", {}),
        call("audiences.list", {}),
        call("computedTraits.list", {}),
      ]);
    const counts = Object.entries(stats.messages.byState)
      .filter(([, count]) => count > 0)
      .map(([state, count]) => `${count} ${state}`);
    const answer = new Answer()
      .say(`Hookyard ${about.version}. Send to ${about.ingestUrl}, with a write key as user name.`)
      .say(
        `Clock: ${clock.now}, ${paceOf(clock)}${clock.nextDueAt === null ? "" : `, next due ${clock.nextDueAt}`}.`,
      )
      .say(`Messages: ${counts.join(", ") || "none"}.`);
    const list = (what: string, lines: readonly string[]): void => {
      answer.say(
        `${lines.length} ${what}${lines.length > maxListed ? `, the first ${maxListed}` : ""}:`,
      );
      answer.data(lines.slice(0, maxListed));
    };
    // A program sends to none of those that belong to an audience or a computed trait.
    const clients = sources.items.filter(({ kind }) => kind !== "audience");
    list(
      "sources",
      clients.map(({ id, name, writeKey, faults }) =>
        [id, facts({ name, writeKey }), faults.length === 0 ? "" : `${faults.length} faults`].join(
          " ",
        ),
      ),
    );
    list(
      "destinations",
      destinations.items.map(({ id, name, enabled, sourceIds, webhooks, hasSharedSecret }) =>
        [
          id,
          enabled ? "enabled" : "disabled",
          hasSharedSecret ? "signed" : "not signed",
          `sources ${sourceIds.join(",") || "none"}`,
          facts({ name }),
          ...webhooks.map(({ url }) => quoted(urlWithoutCredentials(url))),
        ].join(" "),
      ),
    );
    list(
      "test endpoints",
      endpoints.items.map(({ id, name, url, position }) =>
        [id, `${position.received} received`, facts({ name, url })].join(" "),
      ),
    );
    if (audiences.items.length + traits.items.length > 0)
      list("audiences and computed traits", [
        ...audiences.items.map(({ id, name, size }) => `${id} ${size} users ${facts({ name })}`),
        ...traits.items.map(({ id, name }) => `${id} ${facts({ name })}`),
      ]);
    if (clients.length === 0)
      answer.next("configure", { kind: "source", changes: { name: "App" } }, "creates a source");
    else if (destinations.items.length === 0)
      answer.next(
        "configure",
        {
          kind: "destination",
          changes: {
            name: "Receiver",
            sourceIds: [clients[0]?.id],
            webhooks: [{ url: "<the URL of your receiver>" }],
          },
        },
        "connects your receiver",
      );
    return answer.next("why_not_delivered", {}, "what is not delivered, and why");
  },
});

export function paceOf({ mode, speed }: Pick<AnswerOf<"clock.get">, "mode" | "speed">): string {
  return mode === "faster" ? `${speed} times faster` : mode;
}

type Shown = { id: string; attempt?: string | undefined; language: AdviceLanguage };
type Show = (answer: Answer, shown: Shown, context: ToolContext) => Promise<void>;

const shows: Readonly<Record<string, Show>> = {
  msg: showMessage,
  dlv: showDelivery,
  src: async (answer, { id }, { call }) => {
    const source = await call("sources.get", { id });
    answer.say(`${id} is a source.`).data(jsonLines(source));
  },
  dst: async (answer, { id }, { call }) => {
    const destination = await call("destinations.get", { id });
    const shown = {
      ...destination,
      mappings: destination.mappings.map(withoutCredentials),
      webhooks: destination.webhooks.map(({ behind: _, ...one }) => withoutCredentials(one)),
    };
    answer.say(`${id} is a destination.`).data(jsonLines(shown));
  },
  ept: showEndpoint,
  aud: async (answer, { id }, { call }) => {
    const { members, membersLeftOut, ...audience } = await call("audiences.get", { id });
    const first = members?.slice(0, 20) ?? null;
    answer.say(`${id} is an audience of ${audience.size} users.`);
    if (membersLeftOut !== undefined)
      answer.say(`Its list has ${membersLeftOut}, too many to show.`);
    if (members !== null) answer.say(`Its list has ${members.length}; the first 20 are here.`);
    answer.data(jsonLines({ ...audience, members: first }));
  },
  trt: async (answer, { id }, { call }) => {
    const trait = await call("computedTraits.get", { id });
    answer.say(`${id} is a computed trait.`).data(jsonLines(trait));
  },
  rtp: async (answer, { id }, { call }) => {
    const profile = await call("retryProfiles.get", { id });
    answer.say(`${id} is a retry profile.`).data(jsonLines(profile));
  },
  chk: showCheck,
  job: async (answer, { id }, { call }) => {
    const { state, done, total } = await call("jobs.get", { id });
    answer.say(`${id} is ${state}: ${done} of ${total} deliveries.`);
  },
};

const show = defineTool({
  name: "show",
  title: "Show anything that has an id",
  description:
    "Shows a message (msg_), delivery (dlv_, and with `attempt` one attempt with its bytes), source (src_), destination (dst_), test endpoint with what it received (ept_), audience (aud_), computed trait (trt_), retry profile (rtp_), check of a receiver (chk_, or chk_…/name for one result with its fix), or retry job (job_). Answers stay below 4 KB unless maxBytes says more.",
  effect: "reads",
  schema: z.strictObject({
    id: z.string(),
    attempt: z.string().optional().describe("att_… of the delivery: request and response as sent."),
    maxBytes: z.int().min(500).max(200_000).default(maxAnswerBytes),
    language: z.enum(adviceLanguages).default("node").describe("Of the fix of a failed check."),
  }),
  async run({ maxBytes, ...shown }, context) {
    const answer = new Answer({ maxBytes });
    const prefix = shown.id.slice(0, 3);
    const run = shown.id[3] === "_" && Object.hasOwn(shows, prefix) ? shows[prefix] : undefined;
    if (run === undefined)
      return refused(
        "invalid",
        `id: Give an id that begins with ${Object.keys(shows)
          .map((known) => `${known}_`)
          .join(", ")}.`,
      );
    await run(answer, shown, context);
    return answer;
  },
});

function textOf(recorded: RecordedBytes): string {
  return typeof recorded === "string" ? recorded : `base64: ${recorded.base64}`;
}

function jsonLines(value: unknown): string[] {
  return textLines(JSON.stringify(value, null, 1));
}

async function showMessage(answer: Answer, { id }: Shown, { call }: ToolContext): Promise<void> {
  const message = await call("messages.get", { id });
  answer.say(`${id} is ${message.state}.`).data([messageLine(message)]);
  if (message.deliveries.length > 0)
    answer
      .say(`Its deliveries: ${message.deliveries.length}.`)
      .data(message.deliveries.map((one) => `${one.id} to ${one.destinationId}: ${one.state}`));
  for (const { id: delivery } of message.deliveries)
    answer.next("show", { id: delivery }, "its rounds and attempts");
  answer.say("The message as it arrived:").data(textLines(textOf(message.raw)));
  if (message.warnings.length > 0)
    answer.say("Warnings:").data(message.warnings.map((warning) => quoted(warning)));
  if (message.state !== "delivered")
    answer.next("why_not_delivered", { id }, "the cause and its fix");
}

async function showDelivery(
  answer: Answer,
  { id, attempt: attemptId }: Shown,
  { call }: ToolContext,
): Promise<void> {
  if (attemptId !== undefined) return showAttempt(answer, id, attemptId, call);
  const delivery = await call("deliveries.get", { id });
  answer.say(
    `${id} of ${delivery.messageRowId} to ${delivery.destinationId} is ${delivery.state} (${delivery.reason}).`,
  );
  const changes = delivery.transitions.slice(-maxShownChanges);
  if (changes.length > 0)
    answer.say(
      `Its ${changes.length < delivery.transitions.length ? `newest ${maxShownChanges} ` : ""}changes of state beside those that its attempts show:`,
    );
  for (const { at, state, reason } of changes) answer.say(`${at} ${state} (${reason})`);
  answer
    .say(`${delivery.attempts.length} attempts:`)
    .data(delivery.attempts.slice(-20).map(attemptLine));
  const last = delivery.attempts.at(-1);
  if (last !== undefined) answer.next("show", { id, attempt: last.id }, "request and response");
  if (last?.outcome !== "success")
    answer.next("why_not_delivered", { id }, "the cause and its fix");
}

async function showAttempt(
  answer: Answer,
  id: string,
  attemptId: string,
  call: ToolContext["call"],
): Promise<void> {
  const attempt = await call("deliveries.attempt", { id, attempt: attemptId });
  const { request, response, durationMs, startedAt, error } = attempt;
  const header = ([name, value]: readonly [string, string]): string => quoted(`${name}: ${value}`);
  answer.say(`${attemptId} began at ${startedAt} and took ${durationMs} ms: ${attempt.outcome}.`);
  if (error !== null) answer.data([facts({ code: error.code, error: error.message })]);
  answer
    .say(request.sent ? "Sent:" : "Nothing was sent.")
    .data([
      `${request.method} ${quoted(urlWithoutCredentials(request.url))}`,
      ...headerPairsWithoutCredentials(request.headers).map(header),
      ...textLines(textOf(request.body)),
    ]);
  if (response !== null)
    answer
      .say("Received:")
      .data([
        quoted(response.startLine),
        ...headerPairsWithoutCredentials(response.headers).map(header),
        ...textLines(textOf(response.body)),
      ]);
}

async function showEndpoint(answer: Answer, { id }: Shown, { call }: ToolContext): Promise<void> {
  const [endpoint, received] = await Promise.all([
    call("endpoints.get", { id }),
    call("endpoints.requests", { id, limit: 10 }),
  ]);
  const { name, url, tlsUrl, steps, position, after } = endpoint;
  answer
    .say(
      `${id} is a test endpoint. It received ${position.received} requests; the next is served by step ${position.step ?? "none"}, counted from 0.`,
    )
    .data([
      facts({ name, url, tlsUrl }),
      ...jsonLines({ steps: steps.map(withoutCredentials), after }),
    ])
    .say("The newest requests:")
    .data(
      received.items.map((request) => {
        const { id: received, receivedAt, method, status, did, message, body } = request;
        const { type, event, userId: user } = message;
        return [
          `${received} ${receivedAt} ${quoted(method)} ${did} ${status ?? "no status"}${verificationOf(request)}${forwardingOf(request)}`,
          facts({ type, event, user, body: textOf(body) }),
        ].join(" ");
      }),
    );
}

function verificationOf({ signature }: ReceivedRequestAnswer): string {
  if (signature === null) return "";
  return `, signature ${signature.verifies.some(({ valid }) => valid) ? "valid" : "invalid"}`;
}

/** What the receiver behind it answered, each copy. */
function forwardingOf({ forwarded }: ReceivedRequestAnswer): string {
  return forwarded
    .map(
      ({ response, outcome }) => `, receiver ${response?.status ?? outcome ?? "has not answered"}`,
    )
    .join("");
}

async function showCheck(
  answer: Answer,
  { id, language }: Shown,
  { call }: ToolContext,
): Promise<void> {
  const [run = "", name] = id.split("/", 2);
  if (name === undefined) return describeCheck(answer, run, call);
  const result = await call("checks.result", { id: run, check: name });
  answer
    .say(`${result.verdict}: a right receiver: ${result.title}`)
    .data([quoted(result.detail, 900)]);
  if (result.advice !== null)
    answer
      .say(`Fix in the receiver: ${result.advice}. ${receiverFixes[result.advice] ?? ""}`)
      .say(fixes[result.advice].code(language));
  for (const { head, body, outcome, status } of result.requests.slice(0, 2))
    answer
      .say(`Sent, and ${outcome}${status === null ? "" : ` ${status}`}:`)
      .data([...textLines(head), ...textLines(body)]);
}

/** The results so far: those that did not pass, each with the id that shows it. */
export async function describeCheck(
  answer: Answer,
  id: string,
  call: ToolContext["call"],
): Promise<void> {
  const { state, score, checks, problem } = await call("checks.get", { id });
  const with_ = (wanted: string) => checks.filter((check) => check.state === wanted);
  answer.say(
    `${id} is ${state}: ${with_("pass").length} passed, ${with_("fail").length} failed, ${with_("warn").length} warnings, ${with_("skipped").length} skipped. Score ${score} of 100.`,
  );
  if (problem !== null) answer.data([quoted(problem, 400)]);
  const wrong = [...with_("fail"), ...with_("warn")];
  answer.data(
    wrong.map(
      (check) =>
        `${id}/${check.id} ${check.state} ${facts({ title: check.title, brief: check.brief })}`,
    ),
  );
  for (const check of wrong.slice(0, 4))
    answer.next("show", { id: `${id}/${check.id}` }, "the requests behind it, and the fix");
  if (state === "running") answer.next("show", { id }, "the results so far");
}

export const showTools = [overview, show];
