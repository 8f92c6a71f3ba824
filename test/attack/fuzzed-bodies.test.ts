/**
 * Bodies from a seed: JSON of what messages are made of, JSON of anything, and both of them
 * damaged. They go through the parser, the checks and the store of this process, 8,000 in `npm test`
 * and 100,000 in `npm run attack`; some go over sockets. `HOOKYARD_ATTACK_SEED` gives others.
 */

import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { expect, onTestFinished, test } from "vitest";
import type { Source } from "../../src/domain/configuration.ts";
import { isProblem } from "../../src/domain/problem.ts";
import { batchAnswer } from "../../src/engine/ingest/ingest-server.ts";
import { maxBatchMessages, parseBody } from "../../src/engine/ingest/read-request.ts";
import {
  acceptRequest,
  recordMalformed,
  type RequestFacts,
} from "../../src/engine/ingest/accept.ts";
import { openStore } from "../../src/store/sqlite-store.ts";
import { basic, post, talk } from "../support/ingest-client.ts";
import { createDice, type Dice } from "./dice.ts";
import { startTargets, writeKey } from "./targets.ts";

const seed = Number(process.env["HOOKYARD_ATTACK_SEED"] ?? 100_000);
const bodies = process.env["MODE"] === "whole" ? 100_000 : 8000;
const overSockets = 300;
const perCommit = 25;
const megabyte = 1_000_000;

const members = [
  ...[
    "type",
    "userId",
    "anonymousId",
    "event",
    "groupId",
    "previousId",
    "name",
    "category",
    "messageId",
    "writeKey",
    "channel",
  ],
  ...[
    "context",
    "integrations",
    "traits",
    "properties",
    "timestamp",
    "sentAt",
    "batch",
    "__proto__",
    "constructor",
    "",
    "All",
    "library",
    "ip",
  ],
];
const types = ["identify", "track", "page", "screen", "group", "alias", "delete", "Track", ""];
const oddities = [
  ...[
    "1e400",
    "-0",
    "1.0",
    "9007199254740993",
    "9".repeat(400),
    "0.1e-400",
    "true",
    "null",
    "[]",
    "{}",
    `""`,
  ],
  ...[
    `"\\ud800"`,
    `"\\u0000"`,
    `"2026-11-21T03:16:19+0000"`,
    `"0000-00-00"`,
    `1700000000000`,
    `"\u2028"`,
    `"é😀"`,
    `"__proto__"`,
  ],
];

const nested = (levels: number): string => "[".repeat(levels) + "]".repeat(levels);

function valueOf(dice: Dice, depth: number): string {
  const { roll, pick, percent } = dice;
  if (depth > 4 || percent(55))
    return percent(50) ? pick(oddities) : JSON.stringify(`u${roll(50)}`);
  if (percent(0.3)) return nested(roll(700));
  if (percent(0.05)) return JSON.stringify(pick(["x", "\u0001", "é", "😀"]).repeat(roll(40_000)));
  const size = percent(99.8) ? roll(5) : roll(300);
  if (percent(40))
    return `[${Array.from({ length: size }, () => valueOf(dice, depth + 1)).join(",")}]`;
  return objectOf(dice, size, depth + 1);
}

function objectOf(dice: Dice, size: number, depth: number): string {
  const pairs = Array.from({ length: size }, () => {
    const name = dice.percent(80) ? dice.pick(members) : `k${dice.roll(1000)}`;
    return `${JSON.stringify(name)}:${name === "type" ? JSON.stringify(dice.pick(types)) : valueOf(dice, depth)}`;
  });
  return `{${pairs.join(",")}}`;
}

function messageOf(dice: Dice): string {
  const { roll, pick, percent } = dice;
  if (percent(20)) return valueOf(dice, 2);
  const id = percent(30) ? `,"messageId":"m${roll(500)}"` : "";
  const more = objectOf(dice, roll(4), 2).slice(1, -1);
  return `{"type":"${pick(types)}","userId":"u${roll(100)}","event":"e","groupId":"g","previousId":"p"${id}${more === "" ? "" : `,${more}`}}`;
}

function textOf(dice: Dice): string {
  const { roll, percent } = dice;
  if (percent(15)) return valueOf(dice, 0);
  if (percent(15)) return messageOf(dice);
  const count = percent(99.7) ? roll(4) : percent(90) ? roll(300) : roll(6000);
  const one = messageOf(dice);
  const items = Array.from({ length: count }, () => (count > 50 ? one : messageOf(dice)));
  const frame = percent(40) ? `,${objectOf(dice, 1 + roll(3), 1).slice(1, -1)}` : "";
  const context = percent(10) ? `,"context":${objectOf(dice, roll(percent(3) ? 2000 : 8), 2)}` : "";
  return `{"batch":[${items.join(",")}]${context}${frame === "," ? "" : frame}}`;
}

function bodyOf(dice: Dice): Buffer {
  const { roll, percent } = dice;
  const bytes = Buffer.from(textOf(dice)).subarray(0, 512_000);
  if (bytes.length > 0 && percent(25))
    for (let n = 1 + roll(4); n > 0; n -= 1) bytes[roll(bytes.length)] = roll(256);
  return percent(5) ? bytes.subarray(0, roll(bytes.length + 1)) : bytes;
}

function startStore() {
  const store = openStore(":memory:");
  onTestFinished(() => store.close());
  const draft: Omit<Source, "id"> = {
    ...{ name: "Shop", kind: "server", writeKey, mode: "explain" },
    ...{ deduplicate: true, correctClockSkew: true, faults: [], plan: null, createdAt: 0 },
  };
  const source = store.insertSource(draft);
  const webhooks = [{ url: "http://127.0.0.1:9/", headers: {} }];
  const destination = {
    enabled: true,
    sourceIds: [source.id],
    webhooks,
    sharedSecret: null,
    retryProfile: "documented",
    filters: [],
    createdAt: 0,
  };
  const destinations = (["documented", "full"] as const).map((payload) =>
    store.insertDestination({ ...destination, name: payload, payload }),
  );
  return { store, source, destinations };
}

test(
  `${bodies} bodies leave what was accepted in the store, and nothing that is not bounded`,
  { timeout: 600_000 },
  () => {
    const { store, source, destinations } = startStore();
    const dice = createDice(seed);
    const facts = (body: Uint8Array, batched: boolean): RequestFacts => ({
      ...{
        source,
        destinations,
        typeFromPath: batched ? null : "track",
        receivedAt: Date.UTC(2026, 10, 22),
        wallAt: 0,
      },
      ...{
        method: "POST",
        path: "/v1/batch",
        headers: [],
        ip: "127.0.0.1",
        body,
        isSuppressed: (userId: string) => userId === "u7",
        seed: 1,
      },
    });
    let rejected = 0;
    let accepted = 0;
    let removed = 0;
    let heap = 0;
    for (let done = 0; done < bodies; done += perCommit) {
      const requests = Array.from({ length: perCommit }, () => {
        const body = bodyOf(dice);
        const batched = dice.percent(80);
        const parsed = parseBody(body, batched);
        return isProblem(parsed)
          ? recordMalformed(facts(body, batched), parsed)
          : acceptRequest(facts(body, batched), parsed);
      });
      const committed = store.commit(requests);
      for (const [place, request] of requests.entries()) {
        const { messages, bytes } = request;
        expect(messages.length).toBeLessThanOrEqual(maxBatchMessages + 1);
        expect(bytes).toBeLessThan(5 * megabyte);
        expect(batchAnswer(request, committed[place] ?? []).length).toBeLessThan(megabyte);
        for (const [index, { rejection }] of messages.entries()) {
          if (rejection !== null || committed[place]?.[index]?.duplicateOf !== null) rejected += 1;
          else accepted += 1;
        }
      }
      if (done % 2000 !== 0) continue;
      // What upkeep does. Nothing that was accepted goes: all of it still moves.
      for (let gone = -1; gone !== 0; removed += gone) gone = store.removeRejected(megabyte, 2500);
      expect(store.rejectedBytes()).toBeLessThanOrEqual(megabyte);
      store.markFollowed(store.followed().newest);
      expect(
        store.removeOld({ maxMessages: 1, maxBytes: megabyte, olderThanWall: null }, 200).removed,
      ).toBe(0);
      heap = Math.max(heap, process.memoryUsage().heapUsed);
    }
    const { byState, total } = store.stats().messages;
    expect(byState.queued + byState.filtered).toBe(accepted);
    expect(byState.rejected + byState.duplicate).toBe(rejected - removed);
    expect(total).toBe(accepted + rejected - removed);
    // Both were met, or this shows nothing.
    expect(Math.min(accepted, rejected, removed)).toBeGreaterThan(bodies / 10);
    expect(heap).toBeLessThan(600 * megabyte);
  },
);

test(`${overSockets} of them over sockets, some compressed, are all answered, and good messages are accepted between them`, async () => {
  const targets = await startTargets();
  const dice = createDice(seed + 1);
  const encodings = {
    gzip: gzipSync,
    deflate: deflateSync,
    br: (body: Buffer) => brotliCompressSync(body),
  };
  const good: string[] = [];
  const statuses = new Set<number>();
  for (let done = 0; done < overSockets; done += perCommit) {
    const requests = Array.from({ length: perCommit }, () => {
      const body = bodyOf(dice);
      const encoding = dice.pick([
        "gzip",
        "deflate",
        "br",
        "identity",
        "identity",
        "identity",
      ] as const);
      const sent = encoding === "identity" ? body : encodings[encoding](body);
      const headers = {
        Authorization: basic(writeKey),
        "Content-Encoding": dice.percent(95) ? encoding : "gzip",
      };
      return post(dice.pick(["/v1/batch", "/v1/track", "/v1/identify"]), sent, headers);
    });
    const { answers } = await talk(targets.ports.ingest, [Buffer.concat(requests)], {
      answers: perCommit,
    });
    expect(answers).toHaveLength(perCommit);
    for (const { status, text } of answers) {
      statuses.add(status);
      expect(text.length).toBeLessThan(megabyte);
      expect(JSON.parse(text)).toMatchObject(
        status === 200
          ? { success: true }
          : { code: expect.any(String), message: expect.any(String) },
      );
    }
    good.push(await targets.sendGood());
  }
  expect([...statuses].toSorted((a, b) => a - b)).toEqual([200, 400]);
  expect(targets.reported).toEqual([]);
  expect(await targets.kept()).toEqual(good);
});
