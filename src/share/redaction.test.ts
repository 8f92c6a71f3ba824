/** What a share file leaves out at paths, and what stays although it reads like a secret. */

import fs, {
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { isProblem } from "../domain/problem.ts";
import { collectShare, shareApi, shareBytes, writeShare } from "./share-file.ts";
import { startShop, track } from "./share.fixture.ts";
import { cutsIn, withoutSecrets } from "./text-removal.ts";
import { startReceiver } from "../../test/support/webhook-receiver.ts";

const properties = {
  email: "ada@example.test",
  phone: 491_701_234_567,
  "last name": "Lovelace",
  "a.b": "dotted-value",
  items: [{ sku: "first-sku" }, { sku: "second-sku" }],
};

/** A receiver that repeats what it got, one level deeper. */
async function startEcho(writeKey = "wk_shop_1", sharedSecret: string | null = null) {
  const shop = await startShop();
  const source = await shop.call<{ id: string }>("sources.create", {
    name: "Shop",
    kind: "server",
    writeKey,
  });
  const body = JSON.stringify({ got: { context: { ip: "127.0.0.1" }, properties } });
  const { url } = await shop.call<{ url: string }>("endpoints.create", {
    name: "echo",
    steps: [{ do: "answer", status: 503, body }],
  });
  await shop.call("destinations.create", {
    name: "Echo",
    sourceIds: [source.id],
    webhooks: [{ url }],
    sharedSecret,
  });
  const messagesOf = async (asked: Parameters<typeof shop.share>[0]): Promise<string> =>
    (await shop.share(asked)).split("\n").slice(2).join("\n");
  return { ...shop, messagesOf };
}

describe("a path of what is left out", () => {
  test.each([
    ["properties.email", ["ada@example.test"], "Lovelace"],
    ["$.properties.email", ["ada@example.test"], "Lovelace"],
    ["properties.phone", ["491701234567"], "Lovelace"],
    ["properties", ["ada@example.test", "491701234567", "dotted-value", "first-sku"], "track"],
    ['properties["last name"]', ["Lovelace"], "dotted-value"],
    ['properties["a.b"]', ["dotted-value"], "Lovelace"],
    ["properties.items.sku", ["first-sku", "second-sku"], "Lovelace"],
    ["properties.items[1].sku", ["second-sku"], "first-sku"],
    ["properties.items[0]", ["first-sku"], "second-sku"],
    // Hookyard fills it in, so that only what is sent has it.
    ["context.ip", ["127.0.0.1\\"], "Lovelace"],
  ])("%s is left out of the message, and of what a receiver repeats", async (path, gone, kept) => {
    const { call, send, messagesOf } = await startEcho();
    await send("wk_shop_1", { batch: [track("ada", properties)] });
    await call("pipeline.settle", {});
    const before = await messagesOf({});
    const after = await messagesOf({ redact: [path] });
    for (const text of gone) {
      expect(before).toContain(text);
      expect(after).not.toContain(text);
    }
    expect(after).toContain(kept);
  });

  test.each([
    ...["properties.*", "properties.items[*].sku", "properties..email", 'traits["x', "a.b["],
    ...["properties.email context.ip", "properties.email,context.ip", "properties.email "],
  ])("%s is refused, because nothing would be left out", async (path) => {
    const { app } = await startShop();
    expect(await app.api.call("shares.write", { redact: [path] })).toMatchObject({
      status: 400,
      body: {
        message: expect.stringContaining(`“${path}” is not the path of a member`) as string,
      },
    });
  });

  test("leaves numbers as they were written", async () => {
    const { app, messagesOf, call } = await startEcho();
    await fetch(`${app.ingestUrl}/v1/track`, {
      method: "POST",
      headers: { authorization: `Basic ${btoa("wk_shop_1:")}` },
      body: '{"userId":"ada","event":"E","properties":{"email":"a@example.test","big":12345678901234567890,"one":1.0}}',
    });
    await call("pipeline.settle", {});
    const lines = await messagesOf({ redact: ["properties.email"] });
    expect(lines).not.toContain("a@example.test");
    expect(lines).toContain(String.raw`\"big\":12345678901234567890,\"one\":1.0`);
  });

  test("is left out of the sentence that says why an audience sent a message", async () => {
    const { call, send, messagesOf } = await startEcho();
    const rule = { trait: "city", op: "contains", value: "Villa" };
    await call("audiences.create", { name: "Villagers", rule, sync: "each-event" });
    const traits = { city: "Villa of Ada" };
    await send("wk_shop_1", { batch: [{ type: "identify", userId: "ada", traits }] });
    await call("pipeline.settle", {});
    expect(await messagesOf({})).toContain("ada entered Villagers: city is");
    const lines = await messagesOf({ redact: ["traits.city"] });
    expect(lines).toContain("ada entered Villagers: city is");
    expect(lines).not.toContain("Villa of Ada");
  });

  test("is left out of a sentence that names facts of several messages", async () => {
    const { call, send, messagesOf } = await startEcho();
    const order = { event: "Order Completed", where: [{ property: "city", op: "exists" }] };
    const rule = { all: [{ trait: "city", op: "exists" }, order] };
    await call("audiences.create", { name: "Buyers", rule, sync: "manual" });
    const computation = { event: "Order Completed", aggregate: "last", property: "city" };
    await call("computedTraits.create", { name: "City", computation, sync: "each-event" });
    const orders = ["First City", "Second City"].map((city) => track("ada", { city }));
    for (const each of [
      ...orders,
      { type: "identify", userId: "ada", traits: { city: "Villa" } },
    ]) {
      await send("wk_shop_1", { batch: [each] });
      await call("pipeline.settle", {});
    }
    const { items } = await call<{ items: { id: string }[] }>("audiences.list", {});
    await call("audiences.sync", { id: items[0]?.id });
    await call("pipeline.settle", {});
    const sentencesOf = async (redact: string[]): Promise<unknown[]> =>
      (await messagesOf({ redact }))
        .split("\n")
        .flatMap((line) => (JSON.parse(line) as { cause?: { sentence: string } }).cause ?? [])
        .map(({ sentence }) => sentence);
    expect(await sentencesOf([])).toEqual([
      expect.stringMatching(/^ada entered Buyers at a sync: city is "Villa" and .*"Second City"/),
      expect.stringContaining('City of ada is "Second City", and was "First City": '),
      expect.stringContaining('City of ada is "First City": '),
    ]);
    expect(await sentencesOf(["properties.city"])).toEqual([
      "ada entered Buyers at a sync.",
      'City of ada is "left-out".',
      expect.stringContaining('City of ada is "left-out": '),
    ]);
  });

  test("is left out of what sentences show of a long value", async () => {
    const { app, call, messagesOf } = await startEcho();
    const note = `“Ada's diary” ${"of her long days at sea ".repeat(6)}`;
    const schema = { properties: { properties: { properties: { note: { maxLength: 9 } } } } };
    const plan = { schemas: [{ type: "TRACK", key: "E", jsonSchema: schema }] };
    await call("sources.create", { name: "Planned", writeKey: "wk_2", plan });
    await fetch(`${app.ingestUrl}/v1/track`, {
      method: "POST",
      headers: { authorization: `Basic ${btoa("wk_2:")}` },
      body: JSON.stringify({ userId: "ada", event: "E", properties: { note } }),
    });
    await call("pipeline.settle", {});
    const start = "Ada's diary";
    expect((await messagesOf({})).match(/Ada's diary/g)?.length).toBeGreaterThan(2);
    expect(await messagesOf({ redact: ["properties.note"] })).not.toContain(start);
  });

  test.each([
    ["userId", { type: "alias", userId: "u_77", previousId: "u_66" }, "u_77"],
    ["previousId", { type: "alias", userId: "u_77", previousId: "u_66" }, "u_66"],
    ["groupId", { type: "group", userId: "ada", groupId: "g_55" }, "g_55"],
    ["name", { type: "page", userId: "ada", name: "p_44" }, "p_44"],
    ["properties.length", track("ada", { length: "l_33" }), "l_33"],
  ])("%s is left out of rows and payloads: %j", async (path, message, gone) => {
    const { call, send, messagesOf } = await startEcho();
    await send("wk_shop_1", { batch: [message] });
    await call("pipeline.settle", {});
    expect(await messagesOf({})).toContain(gone);
    expect(await messagesOf({ redact: [path] })).not.toContain(gone);
  });

  test("is left out of a number that a mapping writes in another way", async () => {
    const { app, call, share } = await startShop();
    const source = await call<{ id: string }>("sources.create", { name: "A", writeKey: "wk_1" });
    const data = { m: { "@path": "$.properties.n" } };
    await call("destinations.create", {
      name: "Mapped",
      kind: "webhooks-actions",
      sourceIds: [source.id],
      mappings: [{ name: "N", url: "http://127.0.0.1:9", data }],
    });
    await fetch(`${app.ingestUrl}/v1/track`, {
      method: "POST",
      headers: { authorization: `Basic ${btoa("wk_1:")}` },
      body: '{"event":"E","userId":"ada","properties":{"n":12345678.0}}',
    });
    await call("pipeline.settle", {});
    expect(await share()).toContain(String.raw`\"m\":12345678`);
    expect(await share({ redact: ["properties.n"] })).not.toContain("12345678");
  });

  test("is left out of a batch of a mapping that another message was sent in", async () => {
    const { call, share, send } = await startShop();
    const source = await call<{ id: string }>("sources.create", { name: "A", writeKey: "wk_1" });
    const { url } = await call<{ url: string }>("endpoints.create", {
      name: "ok",
      steps: [{ do: "answer" }],
    });
    const who = { "@path": "$.properties.email" };
    const batch = { enabled: true, size: 2, keys: [], waitMs: 1000 };
    await call("destinations.create", {
      name: "Mapped",
      kind: "webhooks-actions",
      sourceIds: [source.id],
      mappings: [{ name: "All", url, data: { who }, batch }],
    });
    const emails = ["ada@example.test", "ben@example.test"];
    await send("wk_1", { batch: emails.map((email) => track("u", { email })) });
    await call("pipeline.settle", {});
    for (const email of emails) {
      expect(await share()).toContain(email);
      expect(await share({ redact: ["properties.email"] })).not.toContain(email);
    }
  });

  test("is left out of what a tracking plan says of an event that it does not have", async () => {
    const { call, share, send } = await startShop();
    const plan = { schemas: { Bought: {} }, unplannedEvents: "record" };
    await call("sources.create", { name: "A", writeKey: "wk_1", plan });
    const event = 'Call "Ada" 😀 back on her number '.repeat(5);
    await send("wk_1", { batch: [{ type: "track", userId: "u", event }] });
    await call("pipeline.settle", {});
    expect(await share()).toContain("is not in the plan");
    expect(await share({ redact: ["event"] })).not.toMatch(/Call|Ada|back/);
  });

  test.each(["x".repeat(101), "y".repeat(99) + "😀", "0123456789".repeat(12)])(
    "is left out of what older versions recorded of an event: %s",
    (event) => {
      const recorded = `event ${JSON.stringify(event.slice(0, 100))} is not in the plan`;
      expect(withoutSecrets([event])(recorded, cutsIn(recorded))).toMatch(
        /^event "left-out(?:\\ud83d)?" is not in the plan$/,
      );
      const whole = 'event "Order" is not in the plan';
      expect(withoutSecrets(["Order Completed"])(whole, cutsIn(whole))).toBe(whole);
    },
  );

  test("leaves out the whole of a rejected message that cannot be read", async () => {
    const { send, messagesOf } = await startEcho();
    const note = "n".repeat(70_000);
    await send("wk_shop_1", { batch: [track("ada", { email: "ada@example.test", note })] });
    expect(await messagesOf({})).toContain("ada@example.test");
    expect(await messagesOf({ redact: ["properties.email"] })).not.toContain("ada@example.test");
  });
});

test.each([
  ["server", null],
  ["track", null],
  ["wk_shop_1", "delivered"],
  ["wk_shop_1", "2026"],
  ["msg_0", "0000"],
  ["wk_shop_1", "http_error"],
])(
  "a file whose secrets read like the words of the pipeline can be opened: %s, %s",
  async (writeKey, secret) => {
    const { call, send, share } = await startEcho(writeKey, secret);
    await send(writeKey, { batch: [track("000000001")] });
    await call("pipeline.settle", {});
    const api = shareApi(
      await shareBytes((await share({ redact: ["userId"] })).split("\n"), "hookyard", ""),
    );
    if (isProblem(api)) throw new Error(api.message);
    const { items } = (await api.call("messages.list", {})).body as { items: { id: string }[] };
    expect(items).toMatchObject([{ type: "track", userId: "left-out" }]);
    expect(await api.call("messages.get", { id: items[0]?.id })).toMatchObject({ status: 200 });
  },
);

test("what a test endpoint sends on, and the URL that it stands in front of, are secrets everywhere", async () => {
  const { call, share } = await startShop();
  const headers = { "X-Api-Key": "stepKey-4433", "Set-Cookie": "sid=cookie-5511; Max-Age=3600" };
  const body = "cookie-5511, stepKey-4433 and forwardKey-77 for 3600 s";
  const to = "http://127.0.0.1:9/?api_key=forwardKey-77";
  await call("endpoints.create", { name: "Forward", steps: [{ do: "forward", to }] });
  await call("endpoints.create", { name: "Answer", steps: [{ do: "answer", headers, body }] });
  const lines = await share();
  expect(lines).toContain("left-out, left-out and left-out for 3600 s");
  expect(await share({ secrets: true })).toContain(body);
});

test("the data directory is left out of what is said of its damage", async () => {
  const { app } = await startShop();
  const dataDir = "/home/ada/.local/share/hookyard";
  const lines = await collectShare({
    ...{ ...app, version: "1", savedAt: "", secrets: false, redact: [], filter: "" },
    api: {
      async call(name, input) {
        const { status, body } = await app.api.call(name, input);
        if (name === "about.get") return { status, body: { ...(body as object), dataDir } };
        const trouble = `${dataDir}/hookyard.db has been moved.`;
        return { status, body: name === "stats.get" ? { ...(body as object), trouble } : body };
      },
    },
  });
  expect(JSON.stringify(lines)).toContain("left-out/hookyard.db has been moved.");
});

test("a file leaves out what was removed while it was written", async () => {
  const { app, call, send } = await startEcho();
  await send("wk_shop_1", { batch: Array.from({ length: 40 }, (_, n) => track(`u_${n}`)) });
  await call("pipeline.settle", {});
  let removed = false;
  const lines = await collectShare({
    ...{ ...app, version: "1", savedAt: "", secrets: false, redact: [], filter: "" },
    api: {
      async call(name, input) {
        const answer = await app.api.call(name, input);
        if (name === "messages.list" && !removed) {
          removed = true;
          await call("pipeline.reset", { what: "messages" });
          await send("wk_shop_1", { batch: [track("later")] });
        }
        return answer;
      },
    },
  });
  expect(isProblem(lines)).toBe(false);
});

test("a file replaces another one when it is complete, can be read by its owner only, and a page needs a built inspector", async () => {
  const { share } = await startShop();
  const directory = mkdtempSync(join(tmpdir(), "hookyard-share-test-"));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const file = join(directory, "a.hookyard");
  writeFileSync(file, "open to all", { mode: 0o644 });
  const lines = (await share()).split("\n");
  // Not a page: a clone has no inspector before its first build.
  expect(
    await writeShare({ file: join(directory, "a.html"), lines, root: directory, force: true }),
  ).toEqual({
    wrong:
      "There is no built inspector to put into a page: npm run build makes it. NAME.hookyard needs none.",
  });
  const write = fs.writeFileSync;
  vi.spyOn(fs, "writeFileSync").mockImplementation((path, content, options) => {
    write(path, (content as Uint8Array).subarray(0, 9), options);
    throw Object.assign(new Error("ENOSPC: no space left"), { code: "ENOSPC" });
  });
  syncBuiltinESMExports();
  const other = join(directory, "b.hookyard");
  for (const place of [
    { file, force: true },
    { file: other, force: false },
  ]) {
    expect(await writeShare({ ...place, lines, root: "" })).toEqual({
      wrong: `${place.file} cannot be written: ENOSPC: no space left`,
    });
  }
  vi.restoreAllMocks();
  syncBuiltinESMExports();
  expect([readdirSync(directory), readFileSync(file, "utf8")]).toEqual([
    ["a.hookyard"],
    "open to all",
  ]);
  expect(await writeShare({ file, lines, root: "", force: false })).toEqual({
    wrong: `${file} already exists. --force replaces it.`,
  });
  const written = await writeShare({ file, lines, root: "", force: true });
  expect(written).toMatchObject({ file, messages: 0 });
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(readdirSync(directory)).toEqual(["a.hookyard"]);
});

test("a secret in an answer that is no text is left out, and its other bytes stay", async () => {
  const { call, share, send } = await startShop();
  const sharedSecret = "s3cr3t-of-the-ledger";
  const receiver = await startReceiver((response) =>
    response.end(Buffer.from(`\xff\xfe of ${sharedSecret} \xe9`, "latin1")),
  );
  onTestFinished(() => receiver.stop());
  const { id } = await call<{ id: string }>("sources.create", {
    name: "Shop",
    writeKey: "wk_shop_1",
  });
  await call("destinations.create", {
    name: "Ledger",
    sourceIds: [id],
    sharedSecret,
    webhooks: [{ url: receiver.url }],
  });
  await send("wk_shop_1", { batch: [track("ada")] });
  await call("pipeline.settle", {});
  const answers = async (secrets: boolean): Promise<string[]> =>
    [...(await share({ secrets })).matchAll(/"base64":"([^"]+)"/g)].map(([, bytes = ""]) =>
      Buffer.from(bytes, "base64").toString("latin1"),
    );
  expect(await answers(true)).toEqual([`\xff\xfe of ${sharedSecret} \xe9`]);
  expect(await answers(false)).toEqual(["\xff\xfe of left-out \xe9"]);
});
