/** What one changed answer changes, in words: the two deliveries beside each other. Pure. */

import type { DeliveryDetailsAnswer } from "../../contract/deliveries.ts";
import type { WhatIfDifference } from "../../contract/scenarios.ts";
import { shortName, type RecordedWebhook } from "./scenario.ts";

type Compared = {
  asItWas: DeliveryDetailsAnswer;
  whatIf: DeliveryDetailsAnswer;
  webhooks: readonly RecordedWebhook[];
  /** The scenario sends the message without the mapping. */
  isMapped: boolean;
};

export function differencesOf({
  asItWas,
  whatIf,
  webhooks,
  isMapped,
}: Compared): WhatIfDifference[] {
  return [
    outcomeOf(asItWas, whatIf),
    roundsOf(asItWas, whatIf),
    ...webhooks.map((webhook) => receiverOf(webhook, asItWas, whatIf)),
    ...(isMapped ? [] : [bodyOf(asItWas, whatIf)]),
  ];
}

const startOf = ({ attempts, createdAt }: DeliveryDetailsAnswer): number =>
  Date.parse(attempts[0]?.startedAt ?? createdAt);

function endOf(delivery: DeliveryDetailsAnswer): number | null {
  const { state, attempts, transitions } = delivery;
  if (state === "queued" || state === "sending" || state === "waiting") return null;
  const success = attempts.find(({ outcome }) => outcome === "success");
  if (success !== undefined)
    return Date.parse(success.startedAt) + (success.simulated ? success.durationMs : 0);
  const last = transitions.at(-1);
  return last === undefined ? null : Date.parse(last.at);
}

function outcomeOf(
  asItWas: DeliveryDetailsAnswer,
  whatIf: DeliveryDetailsAnswer,
): WhatIfDifference {
  const [before, after] = [endOf(asItWas), endOf(whatIf)];
  const [tookBefore, tookAfter] = [asItWas, whatIf].map((each) => {
    const end = endOf(each);
    return end === null ? null : end - startOf(each);
  });
  const isLater =
    tookBefore !== null && tookAfter !== null && tookBefore !== undefined && tookAfter !== undefined
      ? tookAfter - tookBefore
      : null;
  const isLost = asItWas.state === "delivered" && whatIf.state !== "delivered";
  const difference =
    asItWas.state !== whatIf.state
      ? `${whatIf.state} in place of ${asItWas.state}${isLater === null || Math.abs(isLater) < 1000 ? "" : `, ${apartWords(isLater)}`}`
      : isLater === null || before === null || after === null
        ? `${whatIf.state} in both`
        : Math.abs(isLater) < 1000
          ? "no difference"
          : apartWords(isLater);
  return {
    what: "the delivery",
    asItWas: stateWords(asItWas),
    whatIf: stateWords(whatIf),
    difference,
    isLoss: isLost,
  };
}

function stateWords(delivery: DeliveryDetailsAnswer): string {
  const { state, rounds } = delivery;
  const end = endOf(delivery);
  const when = end === null ? "" : `, after ${spanWords(end - startOf(delivery))}`;
  if (state === "delivered") return `delivered in round ${rounds}${when}`;
  return `${state} after ${many(rounds, "round")}${when}`;
}

function roundsOf(asItWas: DeliveryDetailsAnswer, whatIf: DeliveryDetailsAnswer): WhatIfDifference {
  const words = ({ rounds, attempts }: DeliveryDetailsAnswer): string =>
    `${many(rounds, "round")}, ${many(attempts.length, "attempt")}`;
  const [before, after] = [asItWas.rounds, whatIf.rounds];
  const fewer = asItWas.attempts.length - whatIf.attempts.length;
  const attempts =
    fewer === 0 ? "" : `${many(Math.abs(fewer), "attempt")} ${fewer > 0 ? "fewer" : "more"}`;
  const rounds =
    after < before
      ? `${rangeWords(after + 1, before)} never ${after + 1 === before ? "happens" : "happen"}`
      : after > before
        ? `${rangeWords(before + 1, after)} ${before + 1 === after ? "is" : "are"} added`
        : "";
  const parts = [rounds, attempts].filter((part) => part !== "");
  return {
    what: "rounds and attempts",
    asItWas: words(asItWas),
    whatIf: words(whatIf),
    difference: parts.length === 0 ? "no difference" : parts.join(", "),
    isLoss: false,
  };
}

const rangeWords = (from: number, to: number): string =>
  from === to ? `round ${from}` : `rounds ${from} to ${to}`;

/** Whether one receiver got the message. */
function receiverOf(
  webhook: RecordedWebhook,
  asItWas: DeliveryDetailsAnswer,
  whatIf: DeliveryDetailsAnswer,
): WhatIfDifference {
  const short = shortName(webhook.url);
  const name = webhook.endpoint === short ? short : webhook.url;
  const got = ({ attempts }: DeliveryDetailsAnswer) =>
    attempts.find(({ webhookId, outcome }) => webhookId === webhook.id && outcome === "success");
  const [before, after] = [got(asItWas), got(whatIf)];
  const words = (success: ReturnType<typeof got>): string =>
    success === undefined
      ? "never"
      : `round ${success.round}, ${success.response?.status ?? "success"}`;
  const isLoss = before !== undefined && after === undefined;
  const cause = isLoss && whatIf.state === "delivered" ? "one success ends the delivery: " : "";
  return {
    what: `${name} got it`,
    asItWas: words(before),
    whatIf: words(after),
    difference: isLoss
      ? `${cause}${name} never has the message`
      : before === undefined && after !== undefined
        ? `${name} has the message`
        : words(before) === words(after)
          ? "no difference"
          : "in another round",
    isLoss,
  };
}

function bodyOf(asItWas: DeliveryDetailsAnswer, whatIf: DeliveryDetailsAnswer): WhatIfDifference {
  const isSame = JSON.stringify(asItWas.payload) === JSON.stringify(whatIf.payload);
  return {
    what: "the body",
    asItWas: many(asItWas.payloadSize, "byte"),
    whatIf: isSame
      ? `the same ${many(whatIf.payloadSize, "byte")}`
      : many(whatIf.payloadSize, "byte"),
    difference: isSame
      ? "no difference: created once, when the delivery was queued"
      : "created again from the message, so members that the pipeline adds may differ",
    isLoss: false,
  };
}

const apartWords = (ms: number): string =>
  `${spanWords(Math.abs(ms))} ${ms < 0 ? "earlier" : "later"}`;

const many = (number: number, word: string): string =>
  `${number.toLocaleString("en-US")} ${word}${number === 1 ? "" : "s"}`;

/** The two greatest units. */
function spanWords(ms: number): string {
  let rest = Math.round(ms / 1000);
  const parts: string[] = [];
  for (const [size, unit] of [
    [86_400, "d"],
    [3600, "h"],
    [60, "m"],
    [1, "s"],
  ] as const) {
    const number = Math.floor(rest / size);
    rest -= number * size;
    if (number > 0) parts.push(`${number} ${unit}`);
  }
  return parts.length === 0 ? "0 s" : parts.slice(0, 2).join(" ");
}
