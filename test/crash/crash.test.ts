import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFailed, onTestFinished, test } from "vitest";
import { drawUnit } from "../../src/domain/random.ts";
import { startReceiver } from "../support/webhook-receiver.ts";
import { call, startHookyard } from "./hookyard-process.ts";
import type { Addresses, HookyardProcess } from "./hookyard-process.ts";
import { startLoad } from "./load.ts";
import type { Load } from "./load.ts";
import { readData } from "./on-disk.ts";

/** CRASH_KILLS=300 npx vitest run test/crash/crash.test.ts */
const kills = Number(process.env["CRASH_KILLS"] ?? 10);

/** Each fifth kill comes at any moment of the start, ready or not. */
const isAtStart = (kill: number): boolean => kill % 5 === 4;

const writeKey = "key";

async function dataDirectory(): Promise<string> {
  const data = await mkdtemp(join(tmpdir(), "hookyard-crash-"));
  onTestFinished(() => rm(data, { recursive: true, force: true }));
  return data;
}

async function receiver() {
  const started = await startReceiver(200);
  onTestFinished(() => started.stop());
  return started;
}

function start(data: string): HookyardProcess {
  const hookyard = startHookyard(data);
  onTestFinished(() => hookyard.kill("SIGKILL"));
  return hookyard;
}

async function whenReady(hookyard: HookyardProcess): Promise<Addresses> {
  const addresses = await hookyard.ready;
  if (addresses === null) throw new Error(`it did not start: ${(await hookyard.ended).errors}`);
  return addresses;
}

async function configure(addresses: Addresses, url: string): Promise<void> {
  const source = await call<{ id: string }>(addresses, "POST", "sources", {
    name: "Shop",
    writeKey,
  });
  await call(addresses, "POST", "destinations", {
    name: "Out",
    sourceIds: [source.id],
    webhooks: [{ url }],
    sharedSecret: "secret",
  });
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

const messageIdOf = (body: string): string => (JSON.parse(body) as { messageId: string }).messageId;

/** All bodies that came, by the message they carry. */
function byMessage(bodies: string[]): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const body of bodies)
    found.set(messageIdOf(body), [...(found.get(messageIdOf(body)) ?? []), body]);
  return found;
}

test(
  `killed ${kills} times under load, it loses no accepted message and no attempt on record, and delivers everything`,
  { timeout: 20_000 * kills },
  async () => {
    const seed = Number(process.env["CRASH_SEED"] ?? Date.now() % 1_000_000);
    onTestFailed(() => console.log(`CRASH_SEED=${seed} draws the same moments again.`));
    let drawn = 0;
    const draw = (): number => drawUnit(seed, drawn++, 1);
    const data = await dataDirectory();
    const out = await receiver();
    out.answer = (response) => {
      const status = draw() < 0.25 ? 503 : 200;
      // The claims of slow ones are in the data file.
      const delay = draw() * (draw() < 0.2 ? 1500 : 60);
      setTimeout(() => response.writeHead(status, { "Content-Length": 0 }).end(), delay);
    };

    const first = start(data);
    const addresses = await whenReady(first);
    await configure(addresses, out.url);
    // Fast enough for retries after 10 seconds to come within each life.
    await call(addresses, "POST", "clock", { mode: "faster", speed: 60 });
    first.kill("SIGKILL");
    await first.ended;

    const accepted = new Set<string>();
    const attempts = new Map<number, string>();
    const interrupted = new Set<number>();
    const waitedFor = new Map<number, number>();

    for (let kill = 0; kill < kills; kill += 1) {
      const hookyard = start(data);
      let load: Load | null = null;
      if (isAtStart(kill)) await Promise.race([pause(draw() * 700), hookyard.ended]);
      else {
        const { ingestUrl } = await whenReady(hookyard);
        load = startLoad({ ingestUrl, writeKey, prefix: `life-${kill}`, accepted });
        const watched = readData(data);
        // So that the load is one on any machine, a life ends by what was done in it. The moment
        // within is any.
        const goal = {
          accepted: accepted.size + 15 + draw() * 120,
          attempts: attempts.size + 5 + draw() * 60,
        };
        while (accepted.size < goal.accepted || attempts.size < goal.attempts) {
          await pause(5);
          watched.noteAttempts(attempts);
        }
        hookyard.kill("SIGKILL");
        watched.close();
      }
      hookyard.kill("SIGKILL");
      expect(await hookyard.ended).toMatchObject({ signal: "SIGKILL", errors: "" });
      await load?.stop();

      const left = readData(data);
      left.expectSound();
      const there = left.messageIds();
      expect([...accepted].filter((id) => !there.has(id))).toEqual([]);
      const onRecord = left.attempts();
      expect([...attempts].filter(([id, row]) => onRecord.get(id) !== row)).toEqual([]);
      for (const { id } of left.sending()) interrupted.add(id);
      for (const { id, attempts } of left.waiting()) waitedFor.set(id, attempts);
      left.close();
    }

    expect(interrupted.size).toBeGreaterThan(0);
    expect(waitedFor.size).toBeGreaterThan(0);

    out.answer = 200;
    const last = start(data);
    const restarted = await whenReady(last);
    await call(restarted, "POST", "clock/advance", { to: "idle" });
    await call(restarted, "POST", "settle", { timeoutMs: 100_000 });
    last.kill("SIGTERM");
    expect(await last.ended).toEqual({ code: 0, signal: null, errors: "" });

    const end = readData(data);
    end.expectSound();
    const delivered = 6;
    expect(end.states()).toEqual([{ state: delivered, n: end.messageIds().size }]);
    expect(new Set(end.restarted())).toEqual(interrupted);
    for (const [id, before] of waitedFor) expect(end.attemptsOf(id)).toBeGreaterThan(before);
    const there = end.messageIds();
    end.close();

    const received = byMessage(out.requests.map(({ body }) => body));
    expect([...accepted].filter((id) => !received.has(id))).toEqual([]);
    expect([...received.keys()].filter((id) => !there.has(id))).toEqual([]);
    // Sent again means the same bytes again, and so the same message id.
    expect([...received.values()].filter((bodies) => new Set(bodies).size > 1)).toEqual([]);
    expect([...received.values()].filter((bodies) => bodies.length > 1).length).toBeGreaterThan(0);
  },
);

test("asked to end, it lets what is being sent come to its end, and sends the rest after the next start: each message once", async () => {
  const data = await dataDirectory();
  const out = await receiver();
  out.answer = (response) =>
    setTimeout(() => response.writeHead(200, { "Content-Length": 0 }).end(), 300);

  const first = start(data);
  const addresses = await whenReady(first);
  await configure(addresses, out.url);
  const accepted = new Set<string>();
  const load = startLoad({ ingestUrl: addresses.ingestUrl, writeKey, prefix: "m", accepted });
  await out.whenReceived(100);
  first.kill("SIGTERM");
  expect(await first.ended).toEqual({ code: 0, signal: null, errors: "" });
  await load.stop();

  const between = readData(data);
  between.expectSound();
  expect(between.attempts().size).toBe(out.requests.length);
  expect([...accepted].filter((id) => !between.messageIds().has(id))).toEqual([]);
  between.close();

  out.answer = 200;
  const second = start(data);
  await call(await whenReady(second), "POST", "settle", { timeoutMs: 100_000 });
  second.kill("SIGTERM");
  expect(await second.ended).toEqual({ code: 0, signal: null, errors: "" });
  const end = readData(data);
  end.expectSound();
  const received = byMessage(out.requests.map(({ body }) => body));
  expect([...received.keys()].toSorted()).toEqual([...end.messageIds()].toSorted());
  expect([...received.values()].filter((bodies) => bodies.length !== 1)).toEqual([]);
  end.close();
});
