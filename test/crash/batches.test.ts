import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { inconsistenciesIn } from "../../src/store/examine.ts";
import { openDatabase } from "../../src/store/open.ts";
import { startReceiver } from "../support/webhook-receiver.ts";
import { call, startHookyard, type Addresses } from "./hookyard-process.ts";

async function start(data: string) {
  const hookyard = startHookyard(data);
  onTestFinished(() => hookyard.kill("SIGKILL"));
  const addresses = await hookyard.ready;
  if (addresses === null) throw new Error(`it did not start: ${(await hookyard.ended).errors}`);
  return { hookyard, addresses };
}

async function send({ ingestUrl }: Addresses, from: number, to: number): Promise<void> {
  const batch = Array.from({ length: to - from }, (_, index) => ({
    type: "track",
    userId: "u",
    event: "Bought",
    properties: { n: from + index },
  }));
  const response = await fetch(`${ingestUrl}/v1/batch`, {
    method: "POST",
    headers: { Authorization: `Basic ${btoa("key:")}` },
    body: JSON.stringify({ batch }),
  });
  expect(response.status).toBe(200);
}

const numbers = (bodies: string[]): number[] =>
  bodies.flatMap((body) => (JSON.parse(body) as { n: number }[]).map(({ n }) => n));

test("killed while a batch collects and while one is sent, it delivers each message, and the unfinished batch again as it was", async () => {
  const data = await mkdtemp(join(tmpdir(), "hookyard-batches-"));
  onTestFinished(() => rm(data, { recursive: true, force: true }));
  const receiver = await startReceiver(() => undefined);
  onTestFinished(() => receiver.stop());

  const before = await start(data);
  await call(before.addresses, "POST", "clock", { mode: "paused" });
  const source = await call<{ id: string }>(before.addresses, "POST", "sources", {
    name: "Shop",
    writeKey: "key",
  });
  await call(before.addresses, "POST", "destinations", {
    kind: "webhooks-actions",
    name: "Out",
    sourceIds: [source.id],
    mappings: [
      {
        name: "One",
        url: receiver.url,
        data: { n: { "@path": "$.properties.n" } },
        batch: { enabled: true, size: 5 },
      },
    ],
  });
  await send(before.addresses, 0, 7);
  // The full batch is being sent and gets no answer; two messages collect.
  await receiver.whenReceived(1);
  before.hookyard.kill("SIGKILL");
  await before.hookyard.ended;

  receiver.answer = 200;
  const after = await start(data);
  await send(after.addresses, 7, 8);
  await call(after.addresses, "POST", "clock/advance", { to: "idle" });
  const [full, ...rest] = receiver.requests.map(({ body }) => body);
  expect(numbers([full!])).toEqual([0, 1, 2, 3, 4]);
  expect(rest.filter((body) => body === full)).toHaveLength(1);
  const others = rest.filter((body) => body !== full);
  expect(numbers(others).toSorted((a, b) => a - b)).toEqual([5, 6, 7]);
  const stats = await call<{ messages: { byState: object } }>(after.addresses, "GET", "stats");
  expect(stats.messages.byState).toMatchObject({ delivered: 8, waiting: 0, queued: 0 });
  after.hookyard.kill("SIGTERM");
  await after.hookyard.ended;

  const { db, close } = openDatabase(data);
  expect(inconsistenciesIn(db)).toEqual([]);
  close();
});
