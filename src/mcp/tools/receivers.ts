/** The tools for receivers: make one that fails, check one, and compare signatures. */

import { z } from "zod";
import { bytesOf } from "../../contract/shapes.ts";
import type { AttemptAnswer, DeliveryDetailsAnswer } from "../../contract/deliveries.ts";
import type { InputOf } from "../../contract/contract.ts";
import { firstDifference } from "../../domain/signature-mismatch.ts";
import { Answer, facts } from "../answer.ts";
import { fixOfSignature } from "../causes.ts";
import { defineTool, refused, waitFor, type ToolContext } from "../tool.ts";
import { firstSource } from "./messages.ts";
import { describeCheck } from "./show.ts";

const faults = [
  "status",
  "timeout",
  "reset",
  "close",
  "garbage",
  "slow",
  "lose-answer",
  "lose-request",
  "copies",
  "tamper-signature",
] as const;
type Fault = (typeof faults)[number];
type Step = NonNullable<InputOf<"endpoints.create">["steps"]>[number];
type FaultDraft = Omit<InputOf<"destinations.putFault">, "id" | "webhookId">;

/** Of a test endpoint that answers itself, and of one in front of a receiver. */
const own: Partial<Record<Fault, Partial<Step> & Pick<Step, "do">>> = {
  status: { do: "answer" },
  timeout: { do: "hang" },
  reset: { do: "reset" },
  close: { do: "close" },
  garbage: { do: "garbage" },
  slow: { do: "answer", status: 200, delayMs: 4_500 },
};
const inFront: Partial<Record<Fault, FaultDraft>> = {
  status: {},
  timeout: { lose: "answer", loseAs: "timeout" },
  reset: { lose: "request" },
  slow: { delayMs: 4_500 },
  "lose-answer": { lose: "answer" },
  "lose-request": { lose: "request" },
  copies: { copies: 2 },
  "tamper-signature": { tamper: "signature" },
};

const failingReceiver = defineTool({
  name: "set_up_failing_receiver",
  title: "Set up a receiver that fails",
  description:
    "Without destinationId: creates a test endpoint that fails so many times and then answers 200, and connects it to a source with a new destination. With destinationId: puts the fault in front of the destination's first webhook, so that your own receiver sees it; `undo` takes it away. The faults of the second kind are status, timeout, reset, slow, lose-answer, lose-request, copies, tamper-signature.",
  effect: "changes",
  schema: z.strictObject({
    fault: z.enum(faults).default("status"),
    status: z.int().min(200).max(599).default(503).describe("Of the fault `status`."),
    times: z.int().min(1).max(10_000).default(3).describe("How many requests fail."),
    name: z.string().default("Failing receiver"),
    sourceId: z.string().optional().describe("src_…; the first source when left out."),
    destinationId: z.string().optional().describe("dst_…: in front of this one."),
    undo: z.boolean().default(false).describe("Takes the fault of destinationId away."),
  }),
  async run(input, context) {
    const { destinationId, fault, status, times } = input;
    if (input.undo && destinationId === undefined)
      return refused("invalid", "undo needs a destinationId: that whose fault is taken away.");
    if (destinationId !== undefined)
      return faultInFront({ destinationId, fault, status, times, undo: input.undo }, context);
    const step = own[fault];
    if (step === undefined)
      return refused(
        "invalid",
        `fault: ${fault} needs a destinationId: it is put in front of one.`,
      );
    const { call } = context;
    // One that does not exist is refused before anything is created.
    if (input.sourceId !== undefined) await call("sources.get", { id: input.sourceId });
    const sourceId = input.sourceId ?? (await firstSource(call));
    const endpoint = await call("endpoints.create", {
      name: input.name,
      steps: [
        { ...step, times, ...(fault === "status" ? { status } : {}) },
        { do: "answer", status: 200 },
      ],
    });
    const answer = new Answer().say(
      `Created the test endpoint ${endpoint.id} at ${endpoint.url}: ${fault} ${times} times, then 200.`,
    );
    if (sourceId === null)
      return answer
        .say("No source exists, so nothing is connected.")
        .next("configure", { kind: "source", changes: { name: "App" } }, "creates a source");
    const destination = await call("destinations.create", {
      name: input.name,
      sourceIds: [sourceId],
      webhooks: [{ url: endpoint.url }],
    });
    return answer
      .say(`Created the destination ${destination.id}, connected to ${sourceId}.`)
      .next("send_and_wait", { sourceId, event: "Test", userId: "u_1" }, "sends a message to it")
      .next("advance_clock", { to: "idle" }, "runs all retries")
      .next("show", { id: endpoint.id }, "what it received");
  },
});

async function faultInFront(
  {
    destinationId,
    fault,
    status,
    times,
    undo,
  }: { destinationId: string; fault: Fault; status: number; times: number; undo: boolean },
  { call }: ToolContext,
): Promise<Answer> {
  const destination = await call("destinations.get", { id: destinationId });
  if (destination.kind === "webhooks-actions")
    return refused(
      "mapped_url",
      "The destination has mappings, which give each request its URL. Point a mapping at a test endpoint with a forward step.",
    );
  const webhook = destination.webhooks.find(({ behind }) => (behind !== undefined) === undo);
  if (webhook === undefined)
    return refused(
      undo ? "not_behind" : "already_behind",
      undo
        ? "No fault is in front of it."
        : "It has a fault already. Take it away first, with undo, or change the steps of its test endpoint.",
    );
  const at = { id: destinationId, webhookId: webhook.id };
  if (undo) {
    await call("destinations.undoFault", at);
    return new Answer().say(`${destinationId} sends to its own URL again.`);
  }
  const draft = inFront[fault];
  if (draft === undefined)
    return refused("invalid", `fault: ${fault} cannot be put in front of a receiver.`);
  const changed = await call("destinations.putFault", {
    ...at,
    ...draft,
    times,
    ...(fault === "status" ? { status } : {}),
  });
  const behind = changed.webhooks.find(({ id }) => id === webhook.id)?.behind;
  const answer = new Answer().say(
    `Put ${fault} in front of ${webhook.id} of ${destinationId}, ${times} times.`,
  );
  const sourceId = await firstSource(call, destination.sourceIds);
  if (sourceId === null)
    answer
      .say("No source is connected to the destination.")
      .next(
        "configure",
        { kind: "destination", id: destinationId, changes: { sourceIds: ["<src_…>"] } },
        "connects one",
      );
  else
    answer.next(
      "send_and_wait",
      { sourceId, event: "Test", userId: "u_1" },
      "sends a message through it",
    );
  return answer
    .next("advance_clock", { to: "idle" }, "runs all retries")
    .next("show", { id: behind?.endpointId ?? destinationId }, "what your receiver answered")
    .next("set_up_failing_receiver", { destinationId, undo: true }, "takes the fault away");
}

const compareSignature = defineTool({
  name: "compare_signature",
  title: "Find out why a signature differs",
  description:
    "Compares X-Signature of a delivery with the digest or the body that a receiver has, and names the cause: another secret, another algorithm or spelling, a body that was parsed and serialised again, a body in another encoding. It never shows the shared secret.",
  effect: "reads",
  schema: z.strictObject({
    id: z.string().describe("msg_… or dlv_…: its newest signed attempt."),
    digest: z.string().max(1_000).optional().describe("The digest that the receiver computes."),
    body: z
      .string()
      .max(100_000)
      .optional()
      .describe("The body that the receiver computes it over."),
  }),
  async run({ id, digest, body }, { call }) {
    const delivery = await deliveryOf(id, call);
    const newest = delivery?.attempts.findLast(({ request }) => request.sent);
    if (delivery === null || newest === undefined)
      return new Answer()
        .say("Nothing was sent, so nothing was signed.")
        .next("why_not_delivered", { id }, "finds out why");
    const attempt = newest.leftOut
      ? await call("deliveries.attempt", { id: delivery.id, attempt: newest.id })
      : newest;
    const expected = signatureOf(attempt);
    const { sharedSecret } = await call("destinations.secret", { id: delivery.destinationId });
    if (expected === null || sharedSecret === null)
      return new Answer()
        .say(
          expected === null
            ? "Cause: not_signed. The destination had no shared secret."
            : "Cause: secret_removed. The destination no longer has a shared secret.",
        )
        .next(
          "configure",
          {
            kind: "destination",
            id: delivery.destinationId,
            changes: { sharedSecret: "<the shared secret of your receiver>" },
          },
          "sets it; later rounds are signed",
        );
    const sent = bytesOf(attempt.request.body);
    const signed = delivery.signed ? bytesOf(delivery.signed) : sent;
    const isPart = signed.length < sent.length;
    const answer = new Answer().say(
      `X-Signature of ${attempt.id} is ${/^[0-9a-f]{40}$/.test(expected) ? expected : "not a digest"}, over ${signed.length} bytes${isPart ? `: the first element of a batch of ${sent.length} bytes` : ""}.`,
    );
    if (digest === undefined && body === undefined)
      return answer.next(
        "compare_signature",
        { id, digest: "<the digest that your receiver computes>" },
        "names the cause of a difference",
      );
    const { cause, sentence } = await call("deliveries.signature", {
      id: delivery.id,
      ...(digest === undefined ? {} : { digest }),
      ...(body === undefined ? {} : { body }),
    });
    answer.say(`Cause: ${cause}`).say(sentence);
    const received = body === undefined ? signed : new TextEncoder().encode(body);
    const difference = firstDifference(signed, received);
    if (difference !== null)
      answer.say(`The bodies differ from byte ${difference.offset} on.`).data([
        facts({
          sent: excerpt(signed, difference.offset),
          received: excerpt(received, difference.offset),
        }),
      ]);
    // Without the body, another secret is only what remains.
    if (cause === "wrong_secret" && body === undefined)
      answer.next(
        "compare_signature",
        { id, digest, body: "<the body that your receiver computes it over>" },
        "excludes that the body differs",
      );
    return answer
      .say(`Fix: ${fixOfSignature(cause)}`)
      .next("retry", { id: delivery.id }, "sends it again after the fix");
  },
});

function excerpt(bytes: Uint8Array, offset: number): string {
  return new TextDecoder().decode(bytes.subarray(Math.max(0, offset - 20), offset + 40));
}

async function deliveryOf(
  id: string,
  call: ToolContext["call"],
): Promise<DeliveryDetailsAnswer | null> {
  if (id.startsWith("dlv_")) return call("deliveries.get", { id });
  const { deliveries } = await call("messages.get", { id });
  // Headers that the list leaves out may have a signature.
  const signedAt = ({ attempts }: DeliveryDetailsAnswer): number => {
    const signed = attempts.findLast((one) => one.leftOut || signatureOf(one) !== null);
    if (signed === undefined) return attempts.length > 0 ? -1 : -2;
    return Date.parse(signed.startedAt);
  };
  return deliveries.toSorted((one, other) => signedAt(other) - signedAt(one))[0] ?? null;
}

function signatureOf({ request }: AttemptAnswer): string | null {
  const header = request.headers.find(([name]) => name.toLowerCase() === "x-signature");
  return header?.[1] ?? null;
}

const checkReceiver = defineTool({
  name: "check_receiver",
  title: "Check a receiver",
  description:
    "Sends several hundred real requests to a receiver and reports what it does wrong: signatures, duplicates, lost answers, time, unusual bodies, connections. Takes up to a minute. With the id of a check, waits for the rest of its results. `effects` is a URL where the receiver lists what it has done: without it, duplicates cannot be seen.",
  effect: "changes",
  schema: z.strictObject({
    url: z.string().optional().describe("Of the receiver."),
    secret: z.string().optional().describe("Its shared secret."),
    destinationId: z.string().optional().describe("In place of a secret: sign with that of dst_…"),
    effects: z.string().optional(),
    message: z
      .record(z.string(), z.json())
      .optional()
      .describe("What the receiver expects, in place of a track with the event Order Completed."),
    only: z.array(z.string()).max(100).optional().describe("Names of checks, such as duplicate."),
    skip: z.array(z.string()).max(100).optional(),
    requestTimeoutMs: z.int().min(1).max(600_000).optional(),
    id: z.string().optional().describe("chk_…: of a check that is running."),
    timeoutMs: z.int().min(0).max(120_000).default(55_000).describe("How long to wait."),
  }),
  async run(input, context) {
    const { url, secret, destinationId, effects, message, only, skip, requestTimeoutMs } = input;
    if ((url === undefined) === (input.id === undefined))
      return refused("invalid", "Give either the url of a receiver or the id of a check.");
    const { call } = context;
    const { id } =
      url === undefined
        ? { id: input.id as string }
        : await call("checks.start", {
            url,
            ...(secret === undefined ? {} : { secret }),
            ...(destinationId === undefined ? {} : { useSecretOf: destinationId }),
            ...(effects === undefined ? {} : { effects: { url: effects } }),
            ...(message === undefined ? {} : { message }),
            ...(only === undefined ? {} : { only }),
            ...(skip === undefined ? {} : { skip }),
            ...(requestTimeoutMs === undefined ? {} : { timeoutMs: requestTimeoutMs }),
          });
    await waitFor(context, input.timeoutMs, async () =>
      (await call("checks.get", { id })).state === "running" ? null : true,
    );
    const answer = new Answer();
    await describeCheck(answer, id, call);
    return answer;
  },
});

export const receiverTools = [failingReceiver, compareSignature, checkReceiver];
