/** One exchange for each bug, which shows whether a receiver has it. */

import type { ReceiverClient } from "./receiver-client.ts";

type Proof = {
  shows(client: ReceiverClient): Promise<boolean>;
  /**
   * How long a second of the receiver takes: short where it is slow, long where the bug needs an
   * overlap.
   */
  secondMs?: number;
  /**
   * It shows that the receiver takes long; that another one does not, it cannot show on a busy
   * machine.
   */
  isLowerBound?: boolean;
};

const shortSecondMs = 100;
const longSecondMs = 5_000;

const isGood = (status: number): boolean => status >= 200 && status < 300;

/** The receiver answers so to a valid message with these members. */
function answers(wanted: number, type: string, members: object = {}): Proof {
  return { shows: async (client) => (await client.post(client.message(type, members))) === wanted };
}

/** The receiver answers so to this body, with a valid signature. */
function answersBody(wanted: number, bodyOf: (message: string) => string): Proof {
  return {
    shows: async (client) => (await client.post(bodyOf(client.message("track")))) === wanted,
  };
}

/** The receiver accepts a message with this signature. */
function accepts(signatureOf: (valid: string) => string): Proof {
  return {
    async shows(client) {
      const body = client.message("track");
      return isGood(await client.post(body, { "x-signature": signatureOf(client.sign(body)) }));
    },
  };
}

/** The message takes effect this often, after it was sent as given. */
function takesEffect(
  times: number,
  send: (client: ReceiverClient, body: string) => Promise<unknown>,
  proof: Partial<Proof> = {},
): Proof {
  return {
    async shows(client) {
      const token = client.token();
      await send(client, client.message("track", { properties: { token } }));
      return (await client.effectsOf(token)) === times;
    },
    ...proof,
  };
}

const twice = async (client: ReceiverClient, body: string): Promise<unknown> => [
  await client.post(body),
  await client.post(body),
];
const together = (client: ReceiverClient, body: string): Promise<unknown> =>
  Promise.all([client.post(body), client.post(body)]);

async function hangUpAndRetry(client: ReceiverClient, body: string): Promise<void> {
  await client.hangUp(body);
  await client.post(body);
}

/** The slowest of twenty at once takes five seconds. */
const slowTogether = (count: number): Proof => ({
  secondMs: shortSecondMs,
  isLowerBound: true,
  async shows(client) {
    const start = performance.now();
    await Promise.all(Array.from({ length: count }, () => client.post(client.message("track"))));
    return performance.now() - start >= 5 * shortSecondMs;
  },
});

const nested = (levels: number): object => (levels === 0 ? {} : { in: nested(levels - 1) });
const notRefused = async (client: ReceiverClient): Promise<boolean> => (await client.get()) >= 500;

export const proofs: Readonly<Record<string, Proof>> = {
  "signature-not-verified": accepts(() => "0".repeat(40)),
  "signature-length": accepts(() => "0".repeat(40)),
  "signature-cache": {
    async shows(client) {
      const seen = client.message("track");
      await client.post(seen);
      return isGood(
        await client.post(client.message("track"), { "x-signature": client.sign(seen) }),
      );
    },
  },
  "verifies-after-work": takesEffect(1, (client, body) => client.post(body, { "x-signature": "" })),
  "signature-prefix": accepts((valid) => valid.slice(0, 20)),
  "missing-signature-accepted": accepts(() => ""),
  "verifies-restringified": answersBody(401, (message) => message.replaceAll(":", ": ")),
  "verifies-trimmed": answersBody(401, (message) => `${message}\n`),
  "verifies-latin1": answers(401, "track", { event: "Größe" }),
  "verifies-ascii": answers(401, "track", { event: "Größe" }),
  "ascii-only": answers(500, "track", { event: "Größe" }),
  "content-type-crash": {
    shows: async (client) =>
      (await client.post(client.message("track"), { "content-type": "text/plain" })) === 500,
  },

  "unknown-type-crash": answers(500, "warehouse"),
  "unknown-type-panic": answers(0, "warehouse"),
  "unknown-members-panic": answers(0, "track", { extra: 1 }),
  "empty-properties-crash": answers(500, "track", { properties: {} }),
  "no-user-id-crash": answers(500, "track", { userId: undefined, anonymousId: "anonymous" }),
  "body-limit": answers(413, "track", { properties: { text: "x".repeat(32_768) } }),
  // What arrives at once fills a part of the buffer that it reads.
  "reads-once": answers(401, "track", { properties: { text: "x".repeat(32_768) } }),
  "recursion-limit": answers(500, "track", { properties: nested(50) }),
  "int-32": answers(500, "track", { properties: { count: 5_000_000_000 } }),
  "bad-json-crash": answersBody(500, (message) => message.slice(1)),
  "bad-json-exit": {
    async shows(client) {
      return (await client.post("{")) === 0 && (await client.post(client.message("track"))) === 0;
    },
  },
  "empty-body-panic": answersBody(0, () => ""),
  "get-not-implemented": { shows: notRefused },
  "get-fails": { shows: notRefused },

  "delete-not-found": answers(404, "delete", { messageId: undefined }),
  "alias-refused": {
    async shows(client) {
      return (
        (await client.post(
          client.message("alias", { userId: undefined, "User ID": "new", "Previous ID": "old" }),
        )) === 422
      );
    },
  },
  "group-ignored": {
    async shows(client) {
      const token = client.token();
      return (
        isGood(await client.post(client.message("group", { groupId: "g", traits: { token } }))) &&
        (await client.effectsOf(token)) === 0
      );
    },
  },
  "delete-without-id": {
    async shows(client) {
      const users = [client.token(), client.token()];
      for (const userId of users)
        await client.post(client.message("delete", { messageId: undefined, userId }));
      return (await client.effectsOf(users[1] ?? "")) === 0;
    },
  },

  "no-idempotency": takesEffect(2, twice),
  "duplicate-race": takesEffect(2, together, { secondMs: longSecondMs }),
  "marks-after-answer": takesEffect(2, hangUpAndRetry, { secondMs: longSecondMs }),
  "abandoned-work": takesEffect(0, hangUpAndRetry, { secondMs: longSecondMs }),
  "ten-minute-memory": takesEffect(2, (client, body) => {
    const timestamp = new Date(Date.now() - 4 * 3_600_000).toISOString();
    return twice(client, JSON.stringify({ ...JSON.parse(body), timestamp }));
  }),
  "hundred-ids": takesEffect(2, async (client, body) => {
    await client.post(body);
    for (let count = 0; count < 100; count++) await client.post(client.message("track"));
    await client.post(body);
  }),
  "fails-after-work": takesEffect(2, (client, body) =>
    twice(client, JSON.stringify({ ...JSON.parse(body), type: "group" })),
  ),
  "claimed-then-failed": takesEffect(0, (client, body) =>
    twice(client, JSON.stringify({ ...JSON.parse(body), type: "screen" })),
  ),
  "older-identify-wins": {
    async shows(client) {
      const [userId, older, newer] = [client.token(), client.token(), client.token()];
      const identify = (token: string, timestamp: string): string =>
        client.message("identify", { userId, timestamp, traits: { token } });
      await client.post(identify(newer, "2026-11-22T12:00:01.000Z"));
      await client.post(identify(older, "2026-11-22T12:00:00.000Z"));
      return (await client.effectsOf(older)) === 1;
    },
  },

  "too-slow": slowTogether(1),
  "global-lock": slowTogether(20),
  "connection-limit": { shows: async (client) => (await client.onManyConnections(60)).includes(0) },
  "second-request-reset": {
    shows: async (client) => String(await client.onOneConnection(2)) === "200,0",
  },
  "no-content-with-body": {
    shows: async (client) => (await client.onOneConnection(2)).includes(0),
  },
  "leaks-when-hung-up": {
    async shows(client) {
      await Promise.all(Array.from({ length: 3 }, () => client.hangUp(client.message("track"))));
      await client.post(client.message("track"));
      return (await client.post(client.message("track"))) === 503;
    },
  },
  "connection-close-reset": {
    shows: async (client) => String(await client.onOneConnection(1, "close")) === "0",
  },
  "leaks-when-refusing": {
    async shows(client) {
      for (let count = 0; count < 4; count++)
        await client.post(client.message("track"), { "x-signature": "" });
      return (await client.post(client.message("track"))) === 503;
    },
  },
};
