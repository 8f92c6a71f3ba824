/**
 * What the program says of itself on standard output and standard error: nothing secret, and the
 * wall-clock time.
 */

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, onTestFinished, test } from "vitest";
import { dataFileName } from "../../src/store/open.ts";
import {
  call,
  startHookyard,
  type Addresses,
  type HookyardProcess,
} from "../crash/hookyard-process.ts";
import { basic, post, talk } from "../support/ingest-client.ts";
import { startReceiver, type WebhookReceiver } from "../support/webhook-receiver.ts";

const secrets = {
  shared: "shh-shared-5f1c",
  header: "shh-header-9a2d",
  writeKey: "shh-key-77be",
  wrongKey: "shh-wrong-key-0d3a",
  wrongToken: "shh-wrong-token-4e60",
};

const track = { type: "track", userId: "u", event: "Bought" };

function temporary(): string {
  const directory = mkdtempSync(join(tmpdir(), "hookyard-log-"));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  return directory;
}

async function run(
  data: string,
  flags: readonly string[] = [],
): Promise<{ hookyard: HookyardProcess; at: Addresses }> {
  const hookyard = startHookyard(data, flags);
  onTestFinished(() => hookyard.kill("SIGKILL"));
  const at = await hookyard.ready;
  if (at === null) throw new Error(hookyard.said.errors);
  return { hookyard, at };
}

/**
 * Sends a message whose attempt cannot be put on record, because another program holds the data
 * file, until that is in the log.
 */
async function makeItComplain(
  hookyard: HookyardProcess,
  data: string,
  receiver: WebhookReceiver,
  port: number,
): Promise<void> {
  const other = new Database(join(data, dataFileName));
  receiver.answer = (response) => {
    other.exec("BEGIN IMMEDIATE");
    response.end();
  };
  await talk(port, [
    post("/v1/track", JSON.stringify({ ...track, event: "Last" }), {
      Authorization: basic(secrets.writeKey),
    }),
  ]);
  await expect.poll(() => hookyard.said.errors).toContain("locked by another program");
  other.exec("ROLLBACK");
  other.close();
}

test("no secret is in it, whatever is sent, refused, delivered, configured or goes wrong", async () => {
  const directory = temporary();
  const data = join(directory, "data");
  const receiver = await startReceiver(200);
  onTestFinished(() => receiver.stop());
  const headers = { Authorization: secrets.header };
  const destination = { sources: ["Shop"], sharedSecret: secrets.shared };
  const configuration = {
    version: 1,
    sources: [{ name: "Shop", writeKey: secrets.writeKey }],
    destinations: [
      { ...destination, name: "Good", webhooks: [{ url: receiver.url, headers }] },
      { ...destination, name: "Refusing", webhooks: [{ url: "http://127.0.0.1:1/hook", headers }] },
      {
        ...destination,
        name: "Unknown",
        webhooks: [{ url: "http://user:shh-password-1@nowhere.invalid/hook", headers }],
      },
    ],
  };
  const file = join(directory, "configuration.json");
  writeFileSync(file, JSON.stringify(configuration));
  const { hookyard, at } = await run(data, ["--config", file]);

  const port = Number(new URL(at.ingestUrl).port);
  const bodies = [
    JSON.stringify({ batch: [track, { type: "track" }] }),
    `{"writeKey":${secrets.writeKey}}`,
    "not json",
    "[]",
  ];
  for (const key of [secrets.writeKey, secrets.wrongKey]) {
    for (const body of bodies)
      await talk(port, [post("/v1/batch", body, { Authorization: basic(key) })]);
    await talk(port, [post("/v1/track", JSON.stringify({ ...track, writeKey: key }))]);
    await talk(port, [
      post(`/v1/track?writeKey=${key}`, JSON.stringify(track), { Authorization: `Basic ${key}` }),
    ]);
    await talk(port, [`POST /v1/track HTTP/1.1\r\nHost: h\r\nAuthorization ${basic(key)}\r\n\r\n`]);
    await talk(port, [`GET /v1/projects/${key}/settings HTTP/1.1\r\nHost: h\r\n\r\n`]);
  }
  for (const token of [secrets.wrongToken, `${at.token}x`]) {
    const asked = await fetch(`${at.uiUrl}/api/sources`, {
      headers: { Authorization: `Bearer ${token}` },
    });
    expect(asked.status).toBe(401);
  }
  const again = {
    ...configuration,
    destinations: [{ ...destination, name: "Bad", webhooks: [{ url: secrets.header }] }],
  };
  for (const body of [
    JSON.stringify(again),
    `{"sharedSecret":${secrets.shared}}`,
    JSON.stringify({ ...again, sharedSecret: secrets.shared }),
  ]) {
    const answer = await fetch(`${at.uiUrl}/api/configuration`, {
      method: "POST",
      headers: { Authorization: `Bearer ${at.token}` },
      body,
    });
    expect(answer.status).toBeGreaterThanOrEqual(400);
  }
  await call(at, "POST", "clock/advance", { to: "idle" });
  expect(receiver.requests.length).toBeGreaterThan(0);
  expect(receiver.requests[0]?.headers).toContainEqual(["Authorization", secrets.header]);
  await makeItComplain(hookyard, data, receiver, port);
  hookyard.kill("SIGTERM");
  expect(await hookyard.ended).toMatchObject({ code: 0 });

  const [first = "", ...more] = hookyard.said.output.split("\n");
  expect(JSON.parse(first)).toMatchObject({ event: "ready" });
  const said = [...more, hookyard.said.errors].join("\n");
  expect(said).toContain("locked by another program");
  for (const secret of [...Object.values(secrets), at.token]) {
    for (const spelling of [
      secret,
      encodeURIComponent(secret),
      btoa(secret),
      basic(secret).slice("Basic ".length),
    ]) {
      expect(said).not.toContain(spelling);
    }
  }
  expect(first).not.toContain("shh-");
  expect(said).not.toContain("shh-");
});

const unfit = {
  name: "Crm",
  sources: ["Shop"],
  webhooks: [{ url: secrets.header, headers: { Host: secrets.header } }],
  sharedSecret: [secrets.shared],
};

test.each<[string, RegExp, string]>([
  [
    "is not JSON",
    /configuration\.json:2:17 sources is missing/,
    `{"version":1,\n"destinations":[{"name":"Crm",\n"sharedSecret": ${secrets.shared}}]}`,
  ],
  ["is not JSON, and short", /:1:1 The file must be a mapping/, `["",shh-1]`],
  ["ends early", /:1:33 Missing closing/, `{"sharedSecret":"${secrets.shared}`],
  [
    "holds what does not fit",
    /configuration\.json:1:154 sharedSecret must be a text/,
    JSON.stringify({ version: 1, destinations: [unfit] }),
  ],
])("no secret is in the refusal of a configuration that %s", async (_what, sentence, text) => {
  const directory = temporary();
  const file = join(directory, "configuration.json");
  writeFileSync(file, text);
  const hookyard = startHookyard(":memory:", ["--config", file]);
  const { code, errors } = await hookyard.ended;
  expect(code).toBe(1);
  expect(errors).toMatch(sentence);
  expect(errors).toMatch(/^([^\n]+\n)+$/);
  expect(errors + hookyard.said.output).not.toContain("shh-");
});

test("its times are wall-clock times, however far the clock is", async () => {
  const data = temporary();
  const { hookyard, at } = await run(data);
  const receiver = await startReceiver(200);
  onTestFinished(() => receiver.stop());
  const source = await call<{ id: string }>(at, "POST", "sources", {
    name: "Shop",
    writeKey: secrets.writeKey,
  });
  await call(at, "POST", "destinations", {
    name: "Crm",
    sourceIds: [source.id],
    webhooks: [{ url: receiver.url }],
  });
  const { now } = await call<{ now: string }>(at, "POST", "clock/advance", {
    byMs: 400 * 24 * 3_600_000,
  });
  const from = Date.now();
  await makeItComplain(hookyard, data, receiver, Number(new URL(at.ingestUrl).port));
  hookyard.kill("SIGTERM");
  const { errors } = await hookyard.ended;
  const times = [...errors.matchAll(/^(\d{4}-\d\d-\d\dT\S+) /gm)].map(([, time = ""]) =>
    Date.parse(time),
  );
  expect(times.length).toBeGreaterThan(0);
  for (const time of times) {
    expect(time).toBeGreaterThanOrEqual(from);
    expect(time).toBeLessThanOrEqual(Date.now());
  }
  expect(Date.parse(now)).toBeGreaterThan(Date.now());
});
