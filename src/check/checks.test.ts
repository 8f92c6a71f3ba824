import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { promisify } from "node:util";
import { afterEach, beforeEach, expect, test } from "vitest";
import { isProblem } from "../domain/problem.ts";
import { createTrust } from "../engine/deliver/dial.ts";
import { createChecks } from "./checks.ts";

let server: Server;
let url: string;
let requests: number;
let answer: string;
let checks: ReturnType<typeof createChecks>;
let changed: string[];
/** Called at each request; what it returns is waited for. */
let onRequest: () => Promise<void> | void;
beforeEach(async () => {
  requests = 0;
  answer = "";
  changed = [];
  onRequest = () => undefined;
  server = createServer(async (request, response) => {
    requests += 1;
    await onRequest();
    request.resume().once("end", () => response.writeHead(200).end(answer));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  checks = createChecks({
    trust: createTrust(),
    destination: () => undefined,
    onChange: (id) => changed.push(id),
    report: (error) => {
      throw error;
    },
  });
});
afterEach(async () => {
  checks.stop();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

type Handlers = ReturnType<typeof createChecks>["handlers"];
type ReportInput = Parameters<Handlers["checks.report"]>[0];

async function started(input: Parameters<Handlers["checks.start"]>[0]) {
  const check = await checks.handlers["checks.start"](input);
  if (isProblem(check)) throw new Error(check.message);
  return check;
}

const get = async (id: string) => checks.handlers["checks.get"]({ id });
const stop = async (id: string) => checks.handlers["checks.stop"]({ id });
const report = async (input: ReportInput) => {
  const piece = await checks.handlers["checks.report"](input);
  if (isProblem(piece)) throw new Error(piece.message);
  return piece;
};

async function stateOf(id: string): Promise<string> {
  const check = await get(id);
  return isProblem(check) ? check.code : check.state;
}
async function ended(id: string): Promise<void> {
  await expect.poll(() => stateOf(id), { interval: 5 }).not.toBe("running");
}

test("a check says what runs and what is to come, and notes each change", async () => {
  const { promise: arrived, resolve } = Promise.withResolvers<void>();
  const { promise: isFree, resolve: free } = Promise.withResolvers<void>();
  onRequest = () => {
    resolve();
    return isFree;
  };
  const { id, checks: before } = await started({ url, only: ["get"] });
  expect(before.map((line) => [line.id, line.state])).toEqual([
    ["answers", "running"],
    ["in-time", "coming"],
    ["get", "coming"],
  ]);
  await arrived;
  free();
  await ended(id);
  expect(await get(id)).toMatchObject({
    state: "done",
    checks: [{ state: "pass" }, { state: "pass" }, { id: "get" }],
  });
  // Its start, its end, and both of each of three checks.
  expect(changed).toEqual(Array.from({ length: 8 }, () => id));
});

test("a check that has ended leaves no connection open", async () => {
  server.keepAliveTimeout = 0;
  const { id } = await started({ url, only: ["keep-alive"] });
  await ended(id);
  expect(await get(id)).toMatchObject({ state: "done", score: 100 });
  const connections = (): Promise<number> => promisify(server.getConnections.bind(server))();
  await expect.poll(connections).toBe(0);
});

test("a stopped check keeps its results and sends nothing more, not even in the check under way", async () => {
  const { promise: isFree, resolve: free } = Promise.withResolvers<void>();
  const { promise: arrived, resolve } = Promise.withResolvers<void>();
  onRequest = () => {
    if (requests < 2) return;
    resolve();
    return isFree;
  };
  const { id } = await started({ url });
  await arrived;
  // `in-time` has sent one of its two requests.
  expect(await stop(id)).toMatchObject({ state: "stopped", score: 100 });
  free();
  const { id: after } = await started({ url, only: ["answers"] });
  await ended(after);
  const results = await Promise.all(
    ["answers", "in-time"].map(async (check) =>
      checks.handlers["checks.result"]({ id: after, check }),
    ),
  );
  const sent = results.flatMap((one) => (isProblem(one) ? [] : one.requests));
  expect(sent).toHaveLength(3);
  // And the four that find out how many checks may run beside each other.
  expect(requests).toBe(2 + sent.length + 4);
  expect(await get(id)).toMatchObject({ state: "stopped", score: 100 });
  expect(JSON.parse((await report({ id, as: "json", from: 0 })).text)).toMatchObject({
    url,
    checks: [{ id: "answers" }],
  });
});

test("two run at a time, and the oldest that have ended are forgotten", async () => {
  onRequest = () => new Promise(() => undefined);
  const first = await started({ url });
  const second = await started({ url });
  expect(await checks.handlers["checks.start"]({ url })).toMatchObject({ code: "too_many_runs" });
  await stop(first.id);
  for (let nth = 0; nth < 7; nth += 1) await stop((await started({ url })).id);
  expect(await checks.handlers["checks.list"]({})).toMatchObject({ items: { length: 8 } });
  expect(await stateOf(first.id)).toBe("not_found");
  expect(await stateOf(second.id)).toBe("running");
});

test("effects that cannot be asked make a check unusable, with the reason", async () => {
  const { id } = await started({ url, effects: { url: "http://127.0.0.1:1/effects" } });
  await ended(id);
  expect(await get(id)).toMatchObject({
    state: "unusable",
    problem: expect.stringContaining("cannot be asked for effects"),
  });
});

test("a report comes in pieces of less than a megabyte, which make the whole", async () => {
  answer = "x".repeat(8_000);
  const { id } = await started({ url, only: ["big", "types", "in-time-under-load"] });
  await ended(id);
  let text = "";
  let pieces = 0;
  for (let from: number | null = 0; from !== null;) {
    const piece: Awaited<ReturnType<typeof report>> = await report({ id, as: "json", from });
    expect(Buffer.byteLength(JSON.stringify(piece))).toBeLessThan(1_000_000);
    text += piece.text;
    pieces += 1;
    from = piece.next;
  }
  expect(pieces).toBeGreaterThan(1);
  expect(JSON.parse(text)).toMatchObject({ verdict: "pass" });
});
