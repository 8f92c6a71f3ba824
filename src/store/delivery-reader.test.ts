import { expect, test } from "vitest";
import type { AttemptId, DeliveryId, MessageRowId } from "../domain/ids.ts";
import { attempt, openTestStore, request } from "./store.fixture.ts";

const delivery = (id: number): DeliveryId => id as DeliveryId;
const range = (count: number): number[] => Array.from({ length: count }, (_, n) => n + 1);

test("of a message's attempts the newest thousand are read, and of their bodies two megabytes", () => {
  const { store } = openTestStore();
  store.commit([request([{ to: [1, 2, 3, 4] }])]);
  const body = new Uint8Array(64 * 1024).fill(0x78);
  const response = { status: 503, head: "HTTP/1.1 503 No\r\n", body, bodyLength: 2 * body.length };
  // The attempts of one round have ids beside each other.
  for (const round of range(300))
    store.record(
      range(4).map((id) =>
        attempt(delivery(id), {
          round,
          status: 503,
          response: round > 200 ? response : null,
        }),
      ),
      [],
    );
  const { deliveries } = store.message(1 as MessageRowId)!;
  expect(deliveries.map(({ attempts }) => attempts.map(({ round }) => round))).toEqual(
    range(4).map(() => range(300).slice(50)),
  );
  const all = deliveries.flatMap(({ attempts }) => attempts);
  const whole = all.filter((one) => one.response !== null && one.leftOut !== true);
  expect(whole.map(({ round }) => round).toSorted((a, b) => a - b)).toEqual(
    range(300)
      .slice(292)
      .flatMap((round) => [round, round, round, round])
      .slice(2),
  );
  expect(whole.every((one) => one.response?.body.length === body.length)).toBe(true);
  const oldest = store.attempt(delivery(2), 802 as AttemptId);
  expect([oldest?.round, oldest?.response?.body]).toEqual([201, Buffer.from(body)]);
  expect(store.attempt(delivery(1), 802 as AttemptId)).toBeNull();
});
