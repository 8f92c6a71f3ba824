/**
 * Webhooks over TLS at receivers outside: whom deliveries believe, and that a doubtful certificate
 * gets not one byte of the request.
 */

import { expect, test as base } from "vitest";
import { createAuthority } from "../../src/engine/endpoints/authority.ts";
import { certificate } from "../support/raw-receiver.ts";
import { outcomeOf, starting } from "../support/running-app.ts";

const test = base.extend("start", starting);

const rejections = [
  { host: "self-signed.localhost", code: "DEPTH_ZERO_SELF_SIGNED_CERT", says: /self-signed/ },
  { host: "expired.localhost", code: "CERT_HAS_EXPIRED", says: /expired/ },
  { host: "wrong-host.localhost", code: "ERR_TLS_CERT_ALTNAME_INVALID", says: /another host/ },
] as const;

test.for(rejections)(
  "$host is a tls_error that gets not one byte and is not retried",
  async ({ host, code, says }, { start }) => {
    const data = await start.directory();
    const authority = createAuthority({ dataDir: data });
    authority.authorityPem();
    const receiver = await start.rawReceiver({ tls: authority.identityFor(host) });
    const app = await start.app({ data, clock: "paused" });
    await app.destination([`https://${host}:${receiver.port}/hook`], { sharedSecret: "secret" });
    const id = await app.send();
    await app.advance({ to: "idle" });

    const delivery = await app.delivery(id);
    expect(delivery).toMatchObject({ state: "failed", nextAttemptAt: null });
    expect(delivery.attempts).toMatchObject([
      {
        outcome: "tls_error",
        retryable: false,
        error: { code, message: expect.stringMatching(says) },
        request: { sent: false, headers: [], body: "" },
        response: null,
      },
    ]);
    expect(receiver.received.join("")).toBe("");
  },
);

test("an authority that nobody knows is a tls_error", async ({ start }) => {
  const receiver = await start.rawReceiver({ tls: certificate("valid") });
  const app = await start.app({ clock: "paused" });
  await app.destination([`https://valid.localhost:${receiver.port}/`]);
  const id = await app.send();
  await app.advance({ to: "idle" });
  expect(await app.delivery(id)).toMatchObject({
    state: "failed",
    attempts: [{ outcome: "tls_error", request: { sent: false } }],
  });
  expect(receiver.received.join("")).toBe("");
});

test("the local authority's certificate is believed", async ({ start }) => {
  const data = await start.directory();
  const authority = createAuthority({ dataDir: data });
  const receiver = await start.receiver(200, {
    ...authority.identityFor("valid.localhost"),
    host: "valid.localhost",
  });
  const app = await start.app({ data });
  await app.destination([receiver.url]);
  const id = await app.send();
  await app.settle();
  const delivery = await app.delivery(id);
  expect(delivery.state).toBe("delivered");
  expect(delivery.attempts[0]?.phases.tls).toBeGreaterThan(0);
  expect(receiver.requests[0]?.body).toBe(delivery.payload);
});

test("a TLS failure beside a 503 leaves the other webhook to be retried", async ({ start }) => {
  const app = await start.app({ clock: "paused" });
  const untrusted = await start.rawReceiver({ tls: certificate("self-signed") });
  const busy = await start.receiver((response, _, count) =>
    response.writeHead(count === 1 ? 503 : 200).end(),
  );
  await app.destination([`https://self-signed.localhost:${untrusted.port}/`, busy.url]);
  const id = await app.send();
  await app.advance({ to: "idle" });
  const { attempts, state } = await app.delivery(id);
  expect(state).toBe("delivered");
  expect(attempts.map(outcomeOf).toSorted()).toEqual(["1: 503", "1: tls_error", "2: success"]);
});
