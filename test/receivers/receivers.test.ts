import { afterAll, describe, expect, test } from "vitest";
import { proofs } from "./bug-proofs.ts";
import { ReceiverClient } from "./receiver-client.ts";
import {
  languages,
  missing,
  type ReceiverEntry,
  receivers,
  type RunningReceiver,
  startReceiver,
} from "./receivers.ts";

const running = new Map<ReceiverEntry, RunningReceiver>();
afterAll(() => Promise.all([...running.values()].map((receiver) => receiver.stop())));

async function start(entry: ReceiverEntry, secondMs = 1000): Promise<ReceiverClient> {
  const receiver = running.get(entry) ?? (await startReceiver(entry, secondMs));
  running.set(entry, receiver);
  return new ReceiverClient(receiver);
}

async function stop(entry: ReceiverEntry): Promise<void> {
  await running.get(entry)?.stop();
  running.delete(entry);
}

const right = receivers.filter(({ bug }) => bug === null);
const wrong = receivers.filter(({ bug }) => bug !== null);

test("there are enough of each, with names of their own, and a proof for every bug", () => {
  expect(new Set(receivers.map(({ name }) => name)).size).toBe(receivers.length);
  expect(right.length).toBeGreaterThanOrEqual(6);
  expect(wrong.length).toBeGreaterThanOrEqual(22);
  expect(new Set(wrong.map(({ bug }) => bug))).toEqual(new Set(Object.keys(proofs)));
});

describe.each(languages)("in %s", (language) => {
  const reason = missing(language);
  if (reason !== null) console.log(reason);
  const inLanguage = ({ language: one }: ReceiverEntry): boolean => one === language;

  test.skipIf(reason !== null).for(right.filter(inLanguage))("$name is right", async (entry) => {
    const client = await start(entry, 20);
    const isGood = expect.toSatisfy((status: number) => status >= 200 && status < 300);
    const token = client.token();
    const messages = [
      ["track", { event: "Größe", properties: { token } }],
      ["track", { userId: undefined, anonymousId: "anonymous", properties: { token } }],
      ["page", { name: "Cart", properties: { token } }],
      ["screen", { name: "Cart", properties: { token } }],
      ["identify", { traits: { token } }],
      ["group", { groupId: "g", traits: { token } }],
      ["alias", { userId: undefined, "User ID": token, "Previous ID": "old" }],
      ["delete", { messageId: undefined, userId: token }],
    ] as const;
    for (const [type, members] of messages) {
      const body = client.message(type, members);
      expect(await client.post(body)).toEqual(isGood);
      expect(await Promise.all([client.post(body), client.post(body)])).toEqual([isGood, isGood]);
    }
    expect(await client.effectsOf(token)).toBe(messages.length);

    expect(await client.post(client.message("warehouse"))).toEqual(isGood);
    for (const signature of ["", "0".repeat(40)])
      expect(await client.post(client.message("track"), { "x-signature": signature })).toBe(401);
    for (const body of ["", "{", "[]", "\u0000"]) expect(await client.post(body)).toBe(400);
    expect(await client.get()).toBe(405);
    expect(await client.onManyConnections(100)).toEqual(Array.from({ length: 100 }, () => isGood));
  });

  test.skipIf(reason !== null).for(wrong.filter(inLanguage))(
    "$name has its bug, which a right receiver has not",
    async (entry) => {
      const {
        shows,
        secondMs,
        isLowerBound = false,
      } = proofs[entry.bug ?? ""] ?? expect.unreachable();
      expect(await shows(await start(entry, secondMs))).toBe(true);
      await stop(entry);
      if (!isLowerBound)
        expect(await shows(await start(right.find(inLanguage) ?? expect.unreachable()))).toBe(
          false,
        );
    },
  );
});
