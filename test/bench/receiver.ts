/**
 * What webhooks point at: reads each request, answers an empty 200, counts. Told how many to
 * expect, it says when the first and the last came.
 */

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** Epoch milliseconds with a fraction. */
export type Arrivals = { firstAt: number; lastAt: number };

const now = (): number => performance.timeOrigin + performance.now();

let expected = 0;
let count = 0;
let firstAt = 0;

const server = createServer((request, response) => {
  request.resume();
  request.on("end", () => {
    response.end();
    count += 1;
    if (count === 1) firstAt = now();
    if (count === expected) process.send?.({ firstAt, lastAt: now() } satisfies Arrivals);
  });
});
// Longer than anything here pauses: a connection closed between two requests would be an error of
// the benchmark.
server.keepAliveTimeout = 60_000;
server.listen(0, "127.0.0.1", () =>
  process.send?.({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook` }),
);

process.on("message", (message: { expect: number }) => {
  expected = message.expect;
  count = 0;
});
