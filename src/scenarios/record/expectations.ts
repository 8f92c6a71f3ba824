/** The results of recorded messages, as expectations: deliveries with equal results share one. */

import type { DeliveryDetailsAnswer } from "../../contract/deliveries.ts";
import type { MessageDetailsAnswer } from "../../contract/messages.ts";
import { formatDuration } from "../file/duration.ts";
import type { ExpectInput } from "../file/scenario-schema.ts";
import type { RecordedSetup } from "./setup.ts";
import { recordedDeliveries } from "./steps.ts";

type Expectation = Extract<ExpectInput["expect"], unknown[]>[number];

const minute = 60_000;

/**
 * `lastAt` is when something was last sent or done; later results are expected within that time,
 * and some more for the jitter.
 */
export function expectationsOf(
  messages: readonly MessageDetailsAnswer[],
  setup: RecordedSetup,
  lastAt: number,
): Expectation[] {
  const deliveries = recordedDeliveries(messages).flatMap(({ messageIds, delivery }) => {
    const destination = setup.destination(delivery.destinationId);
    return destination === undefined ? [] : [{ messageIds, destination, delivery }];
  });
  const within = withinFor(
    deliveries.map(({ delivery }) => delivery),
    lastAt,
  );
  const alike = Map.groupBy(deliveries, ({ destination, delivery: { state } }) =>
    JSON.stringify([destination, state]),
  );
  const statesOf = Map.groupBy(
    deliveries.flatMap(({ messageIds, destination, delivery: { state } }) =>
      messageIds.map((messageId) => ({ key: JSON.stringify([messageId, destination]), state })),
    ),
    ({ key }) => key,
  );
  return [
    ...[...alike.values()].flatMap((group): Expectation[] => {
      const [first] = group;
      if (first === undefined) return [];
      const { destination, delivery } = first;
      const { state } = delivery;
      const messageIds = group.flatMap((each) => each.messageIds);
      // Two mappings may send one message, with different results.
      const isInOtherState = messageIds.some((messageId) =>
        statesOf
          .get(JSON.stringify([messageId, destination]))
          ?.some((other) => other.state !== state),
      );
      const of = { messageId: oneOrSeveral(messageIds), destination };
      const count = group.length;
      return [
        {
          deliveries: isInOtherState
            ? { of: { ...of, state }, count, ...within }
            : { of, count, state, ...within },
        },
        ...attemptsOf(group, setup, within),
      ];
    }),
    ...withoutDeliveries(messages, setup),
  ];
}

type NamedDelivery = ReturnType<typeof recordedDeliveries>[number] & { destination: string };

/** Those with equal results share an expectation for each webhook. */
function attemptsOf(
  deliveries: readonly NamedDelivery[],
  setup: RecordedSetup,
  within: { within?: string },
): Expectation[] {
  const alike = Map.groupBy(deliveries, ({ delivery }) =>
    JSON.stringify(resultsOf(delivery, setup)),
  );
  return [...alike.values()].flatMap((group) => {
    const [first] = group;
    if (first === undefined) return [];
    const messageId = oneOrSeveral(group.flatMap(({ messageIds }) => messageIds));
    const { destination, delivery } = first;
    return resultsOf(delivery, setup).map(([webhook, results]): Expectation => ({
      attempts: { of: { messageId, destination, webhook }, results, ...within },
    }));
  });
}

/** Of each webhook, in the words of `results`: `503 x3`, `timeout`, `200`. */
function resultsOf(
  { destinationId, attempts }: DeliveryDetailsAnswer,
  { endpoint }: RecordedSetup,
): [webhook: string, results: (number | string)[]][] {
  return [...Map.groupBy(attempts, (attempt) => endpoint(destinationId, attempt))].flatMap(
    ([webhook, own]): [string, (number | string)[]][] => {
      if (webhook === undefined) return [];
      const runs: { result: number | string; times: number }[] = [];
      for (const { outcome, response } of own) {
        const result =
          outcome === "success" || outcome === "http_error"
            ? (response?.status ?? outcome)
            : outcome;
        const last = runs.at(-1);
        if (last?.result === result) last.times += 1;
        else runs.push({ result, times: 1 });
      }
      return [
        [webhook, runs.map(({ result, times }) => (times === 1 ? result : `${result} x${times}`))],
      ];
    },
  );
}

function withinFor(
  deliveries: readonly DeliveryDetailsAnswer[],
  lastAt: number,
): { within?: string } {
  const ends = deliveries.flatMap(({ attempts, transitions }) => [
    ...attempts.map(
      ({ startedAt, simulated, durationMs }) =>
        Date.parse(startedAt) + (simulated ? durationMs : 0),
    ),
    ...transitions.map(({ at }) => Date.parse(at)),
  ]);
  const later = Math.max(0, ...ends) - lastAt;
  return later < 1000
    ? {}
    : { within: formatDuration(Math.ceil((later * 1.25) / minute) * minute) };
}

function withoutDeliveries(
  messages: readonly MessageDetailsAnswer[],
  setup: RecordedSetup,
): Expectation[] {
  const rest = messages.filter(({ deliveries }) => deliveries.length === 0);
  const alike = Map.groupBy(rest, ({ state, reason, decisions }) =>
    JSON.stringify([state, state === "rejected" ? reason : null, decisions]),
  );
  return [...alike.values()].flatMap((group): Expectation[] => {
    const [first] = group;
    if (first === undefined) return [];
    const { state, reason, decisions } = first;
    const known = decisions.flatMap(({ destinationId, reason }) => {
      const name = setup.destination(destinationId);
      return name === undefined ? [] : [[name, reason] as const];
    });
    return [
      {
        messages: {
          of: { messageId: oneOrSeveral(group.map(({ messageId }) => messageId)), state },
          count: group.length,
          ...(state === "rejected" && reason !== null ? { reason } : {}),
          ...(known.length === 0 ? {} : { decisions: Object.fromEntries(known) }),
        },
      },
    ];
  });
}

function oneOrSeveral(values: readonly string[]): string | string[] {
  const different = [...new Set(values)];
  return different.length === 1 ? (different[0] ?? "") : different;
}
