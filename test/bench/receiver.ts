/**
 * What webhooks point at: reads each request, answers an empty 200, counts. Told how many to
 * expect, it says when the first that counts came, and the last. Started as `silent` it never
 * answers.
 */

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { scriptData } from "./children.ts";

/** So many that count, after so many that do not. */
export type Expected = { expect: number; after?: number };

/** Epoch milliseconds with a fraction. */
export type Arrivals = { firstAt: number; lastAt: number };

const now = (): number => performance.timeOrigin + performance.now();

const { silent = false } = scriptData<{ silent?: boolean }>();
let first = 1;
let last = 0;
let count = 0;
let firstAt = 0;

const server = createServer((request, response) => {
  request.resume();
  request.on("end", () => {
    if (silent) return;
    response.end();
    count += 1;
    if (count === first) firstAt = now();
    if (count === last) process.send?.({ firstAt, lastAt: now() } satisfies Arrivals);
  });
});
// Longer than anything here pauses: a connection closed between two requests would be an error of
// the benchmark.
server.keepAliveTimeout = 60_000;
server.listen(0, "127.0.0.1", () =>
  process.send?.({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook` }),
);

process.on("message", ({ expect, after = 0 }: Expected) => {
  first = after + 1;
  last = after + expect;
  count = 0;
});
