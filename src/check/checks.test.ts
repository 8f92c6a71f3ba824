import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, expect, test } from "vitest";
import { isProblem } from "../domain/problem.ts";
import { createTrust } from "../engine/deliver/dial.ts";
import { createChecks, type Checks } from "./checks.ts";

let server: Server;
let url: string;
let requests: number;
let answer: string;
let checks: Checks;
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
    onChange: (id) => changed.push(id),
    report: (error) => {
      throw error;
    },
  });
});
afterEach(async () => {
  checks.stopAll();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

async function started(input: Parameters<Checks["start"]>[0]) {
  const check = await checks.start(input);
  if (isProblem(check)) throw new Error(check.message);
  return check;
}

const stateOf = (id: string): string => {
  const check = checks.get(id);
  return isProblem(check) ? check.code : check.state;
};
const ended = (id: string) => expect.poll(() => stateOf(id), { interval: 5 }).not.toBe("running");

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
  expect(checks.get(id)).toMatchObject({ state: "done", checks: [{ state: "pass" }, { state: "pass" }, { id: "get" }] });
  // Its start, its end, and both of each of three checks.
  expect(changed).toEqual(Array.from({ length: 8 }, () => id));
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
  expect(checks.stop(id)).toMatchObject({ state: "stopped", score: 100 });
  free();
  const { id: after } = await started({ url, only: ["answers"] });
  await ended(after);
  const sent = ["answers", "in-time"].map((check) => checks.result(after, check)).flatMap((one) => (isProblem(one) ? [] : one.requests));
  expect(sent).toHaveLength(3);
  // And the four that find out how many checks may run beside each other.
  expect(requests).toBe(2 + sent.length + 4);
  expect(checks.get(id)).toMatchObject({ state: "stopped", score: 100 });
  const report = await checks.report({ id, as: "json", from: 0 });
  expect(JSON.parse("text" in report ? report.text : "")).toMatchObject({ url, checks: [{ id: "answers" }] });
});

test("two run at a time, and the oldest that have ended are forgotten", async () => {
  onRequest = () => new Promise(() => undefined);
  const first = await started({ url });
  const second = await started({ url });
  expect(await checks.start({ url })).toMatchObject({ code: "too_many_runs" });
  checks.stop(first.id);
  for (let nth = 0; nth < 7; nth += 1) checks.stop((await started({ url })).id);
  expect(checks.list()).toHaveLength(8);
  expect(stateOf(first.id)).toBe("not_found");
  expect(stateOf(second.id)).toBe("running");
});

test("effects that cannot be asked make a check unusable, with the reason", async () => {
  const { id } = await started({ url, effects: { url: "http://127.0.0.1:1/effects" } });
  await ended(id);
  expect(checks.get(id)).toMatchObject({ state: "unusable", problem: expect.stringContaining("cannot be asked for effects") });
});

test("a report comes in pieces of less than a megabyte, which make the whole", async () => {
  answer = "x".repeat(8_000);
  const { id } = await started({ url, only: ["big", "types", "in-time-under-load"] });
  await ended(id);
  let text = "";
  let pieces = 0;
  for (let from: number | null = 0; from !== null;) {
    const piece = await checks.report({ id, as: "json", from });
    if (isProblem(piece)) throw new Error(piece.message);
    expect(Buffer.byteLength(JSON.stringify(piece))).toBeLessThan(1_000_000);
    text += piece.text;
    pieces += 1;
    from = piece.next;
  }
  expect(pieces).toBeGreaterThan(1);
  expect(JSON.parse(text)).toMatchObject({ verdict: "pass" });
});
