/** A pipeline of its own for each test of a file, and what asks it what if. */

import { afterEach, beforeEach } from "vitest";
import { startInMemory } from "../../app.ts";
import type { AnswerOf, CallName, InputOf } from "../../contract/contract.ts";
import { typedCalls } from "../run/pipeline.ts";

let own: Awaited<ReturnType<typeof startInMemory>>;

export function startForEach(): void {
  beforeEach(async () => {
    own = await startInMemory({ startAt: Date.parse("2026-11-21T09:00:00Z"), version: "0.0.0" });
  });
  afterEach(() => own.stop());
}

export const pipeline = () => own;

export const call = <Name extends CallName>(
  name: Name,
  input: InputOf<Name>,
): Promise<AnswerOf<Name>> => typedCalls(own.api.call).call(name, input);

type Steps = InputOf<"endpoints.create">["steps"];
export type Message = AnswerOf<"messages.get">;
type Answer = InputOf<"scenarios.whatIf">["answer"];

export async function destinationAt(
  programs: Record<string, Steps>,
  more: Partial<InputOf<"destinations.create">> = {},
) {
  const source = await call("sources.create", { name: "Shop", writeKey: "key-shop" });
  const webhooks = [];
  for (const [name, steps] of Object.entries(programs))
    webhooks.push({ url: (await call("endpoints.create", { name, steps })).url });
  const destination = await call("destinations.create", {
    name: "Billing",
    sourceIds: [source.id],
    webhooks,
    sharedSecret: "s3cret",
    ...more,
  });
  return { source, destination };
}

export async function send(event: string, properties = {}, members = {}): Promise<void> {
  const authorization = `Basic ${Buffer.from("key-shop:").toString("base64")}`;
  const body = JSON.stringify({ event, userId: "u_1", messageId: event, properties, ...members });
  await fetch(`${own.ingestUrl}/v1/track`, {
    method: "POST",
    headers: { authorization, "user-agent": "analytics-python/2.3.4" },
    body,
  });
  await call("pipeline.settle", {});
}

export async function messageOf(event: string): Promise<Message> {
  const { items } = await call("messages.list", { limit: 100 });
  const id = items.find((each) => each.messageId === event)?.id ?? "";
  return call("messages.get", { id });
}

export async function ask(message: Message, round: number, answer: Answer, webhook = 0) {
  const attempts = message.deliveries.flatMap((delivery) => delivery.attempts);
  const webhookIds = [...new Set(attempts.map(({ webhookId }) => webhookId))].toSorted();
  const attempt = attempts.find(
    (each) => each.round === round && each.webhookId === webhookIds[webhook],
  );
  return call("scenarios.whatIf", { messageId: message.id, attemptId: attempt?.id ?? "", answer });
}

export const results = ({ attempts }: Message["deliveries"][number]) =>
  attempts
    .toSorted((a, b) => a.round - b.round || a.webhookUrl.localeCompare(b.webhookUrl))
    .map(
      ({ round, outcome, response, webhookUrl }) =>
        `${round} ${new URL(webhookUrl).pathname.slice(1)} ${response?.status ?? outcome}`,
    );
export const rows = (answer: AnswerOf<"scenarios.whatIf">) =>
  answer.differences.map(({ what, difference, isLoss }) => [what, difference, isLoss]);
