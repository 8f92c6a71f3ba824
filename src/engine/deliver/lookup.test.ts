/** How a host name becomes a connection, with a DNS that answers as it is told. */

import dns, { type LookupAddress, type LookupOptions } from "node:dns";
import { syncBuiltinESMExports } from "node:module";
import { afterEach, beforeEach, expect, test } from "vitest";
import { lastingPort } from "../../../test/support/free-ports.ts";
import { answering, hasIpv6, ok, post, sender, stopAll } from "../../../test/support/sending.ts";
import { nextTurn } from "../real-time.ts";

type Answer = (error: Error | null, addresses?: LookupAddress[]) => void;

const asked: [host: string, options: LookupOptions, answer: Answer][] = [];
const real = dns.lookup;

beforeEach(() => {
  asked.length = 0;
  const lookup = (host: string, options: LookupOptions, answer: Answer): void => {
    // A server that begins to listen looks its own address up.
    if (host.endsWith(".test")) asked.push([host, options, answer]);
    else real(host, options, answer as never);
  };
  Object.assign(dns, { lookup });
  syncBuiltinESMExports();
});

afterEach(async () => {
  dns.lookup = real;
  syncBuiltinESMExports();
  await stopAll();
});

/** The next question, once it is asked. */
async function question(): Promise<(typeof asked)[number]> {
  for (;;) {
    const next = asked.shift();
    if (next !== undefined) return next;
    await nextTurn();
  }
}

test("a name is looked up with all of its addresses, and the look-up is a phase", async () => {
  const there = await answering(ok);
  const exchange = post(sender(), `http://shop.test:${there.port}/`);
  const [host, options, answer] = await question();
  expect([host, options.all, exchange.phases]).toEqual(["shop.test", true, []]);
  answer(null, [{ address: "127.0.0.1", family: 4 }]);
  expect(await exchange.done).toMatchObject({ outcome: "answered" });
  expect(exchange.phases).toEqual(["dns", "connect", "sent", "firstByte", "done"]);
  expect(there.received[0]).toContain(`Host: shop.test:${there.port}\r\n`);
});

test("exchanges to one name share a look-up, which stays in progress when they end", async () => {
  const there = await answering(ok);
  const url = `http://shop.test:${there.port}/`;
  const from = sender();
  const first = Array.from({ length: 10 }, () => post(from, url));
  const [, , answer] = await question();
  for (const exchange of first) exchange.abort({ timeoutMs: 1000 });
  for (const { done } of first) expect(await done).toMatchObject({ outcome: "timeout" });
  const later = [post(from, url), post(sender(), url)];
  expect(asked).toEqual([]);
  answer(null, [{ address: "127.0.0.1", family: 4 }]);
  for (const { done } of later) expect(await done).toMatchObject({ outcome: "answered" });
  expect(there.sockets).toHaveLength(2);
  expect(first.flatMap(({ phases }) => phases)).toEqual([]);
  const next = post(sender(), url);
  const [, , answerNext] = await question();
  answerNext(Object.assign(new Error("none"), { code: "ENOTFOUND" }), []);
  expect(await next.done).toMatchObject({ error: { code: "ENOTFOUND" } });
});

test.skipIf(!hasIpv6)("of several addresses, one that answers is enough", async () => {
  const there = await answering(ok);
  const exchange = post(sender(), `http://shop.test:${there.port}/`);
  const [, , answer] = await question();
  answer(null, [
    { address: "::1", family: 6 },
    { address: "127.0.0.1", family: 4 },
  ]);
  expect(await exchange.done).toMatchObject({ outcome: "answered" });
});

test("a name without an address is a failure without the phase, and nothing is sent", async () => {
  const exchange = post(sender(), "http://shop.test/");
  const [, , answer] = await question();
  answer(Object.assign(new Error("none"), { code: "ENOTFOUND" }), []);
  expect(await exchange.done).toMatchObject({
    ...{ outcome: "connection_error", requestHead: "", response: null },
    error: { code: "ENOTFOUND", message: expect.stringContaining("shop.test") as string },
  });
  expect(exchange.phases).toEqual([]);
});

test("a deadline during the look-up says so, and the answer that comes later does nothing", async () => {
  const there = await answering(ok);
  const exchange = post(sender(), `http://shop.test:${there.port}/`);
  const [, , answer] = await question();
  exchange.abort({ timeoutMs: 1000 });
  expect(await exchange.done).toMatchObject({
    outcome: "timeout",
    error: {
      message: expect.stringContaining("while the address of shop.test was being") as string,
    },
  });
  answer(null, [{ address: "127.0.0.1", family: 4 }]);
  for (let turn = 0; turn < 5; turn += 1) await nextTurn();
  expect([exchange.phases, there.sockets.length]).toEqual([[], 0]);
});

test("after the look-up, a connection that is refused failed while connecting", async () => {
  const exchange = post(sender(), `http://shop.test:${await lastingPort()}/`);
  const [, , answer] = await question();
  answer(null, [{ address: "127.0.0.1", family: 4 }]);
  expect(await exchange.done).toMatchObject({ error: { code: "ECONNREFUSED" } });
  expect(exchange.phases).toEqual(["dns"]);
});
