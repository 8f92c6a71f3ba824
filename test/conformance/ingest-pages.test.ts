/** What pages and mails load from the ingest port: the browser library, its parts, and pixels. */

import { expect, test } from "vitest";
import { startIngestApp, writeKey } from "../support/ingest-app.ts";
import { basic } from "../support/ingest-client.ts";

const libraryPath = `/analytics.js/v1/${writeKey}/analytics.min.js`;

test("the library comes with its key and this address, for the page to load again each time", async () => {
  const { url } = await startIngestApp();
  const { host } = new URL(url);
  for (const path of [
    libraryPath,
    libraryPath.replace(".min", ""),
    libraryPath.replace("/analytics.min", "/platform/analytics.min"),
    `/a/prefix/${libraryPath}?x=1`,
  ]) {
    const answer = await fetch(url + path, { headers: { origin: "https://shop.example" } });
    expect([answer.status, path]).toEqual([200, path]);
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      "content-type": "text/javascript; charset=utf-8",
      "cache-control": "no-cache",
      "access-control-allow-origin": "https://shop.example",
      "cross-origin-resource-policy": "cross-origin",
    });
    const script = await answer.text();
    expect(script).toContain(JSON.stringify(writeKey));
    const prefix = path.startsWith("/a/prefix/") ? "/a/prefix" : "";
    expect(script).toContain(JSON.stringify(`${host}${prefix}/v1`));
    expect(script).not.toMatch(/__WRITE_KEY__|api\.segment\.io|sourceMappingURL/);
  }
});

test("HEAD gets the same headers, and other methods are refused", async () => {
  const { url } = await startIngestApp();
  const whole = await fetch(url + libraryPath);
  const head = await fetch(url + libraryPath, { method: "HEAD" });
  expect([head.status, await head.text()]).toEqual([200, ""]);
  expect(Number(head.headers.get("content-length"))).toBe((await whole.arrayBuffer()).byteLength);
  const posted = await fetch(url + libraryPath, { method: "POST", body: "{}" });
  expect([posted.status, posted.headers.get("allow")]).toEqual([405, "GET, HEAD, OPTIONS"]);
});

test("every part that the library names is here, and may be cached", async () => {
  const { url } = await startIngestApp();
  const library = await (await fetch(url + libraryPath)).text();
  // `{96:"queryString",…}[t]…+".bundle."+{96:"34b193…",…}[t]+".js"`
  const [, names = "", hashes = ""] =
    /\(\{([^{}]+)\}\[\w\]\|\|\w\)\+"\.bundle\."\+\{([^{}]+)\}\[\w\]\+"\.js"/.exec(library) ?? [];
  const name = new Map([...names.matchAll(/(\d+):"([^"]+)"/g)].map(([, id, text]) => [id, text]));
  const parts = [...hashes.matchAll(/(\d+):"(\w+)"/g)].map(
    ([, id, hash]) => `${name.get(id) ?? id}.bundle.${hash}.js`,
  );
  expect(parts.length).toBeGreaterThan(5);
  for (const part of parts) {
    const answer = await fetch(`${url}/analytics-next/bundles/${part}`);
    expect([part, answer.status, answer.headers.get("cache-control")]).toEqual([
      part,
      200,
      "public, max-age=31536000, immutable",
    ]);
    await answer.text();
  }
});

test("what is no part of it is refused with a sentence", async () => {
  const { send } = await startIngestApp();
  const integration = "/next-integrations/integrations/amplitude/2.0.0/amplitude.dynamic.js.gz";
  for (const [path, sentence] of [
    ["/analytics-next/bundles/other.bundle.0123.js", "is not part of the browser library"],
    ["/analytics-next/bundles/..%2f..%2fpackage.json", "is not an ingest path"],
    [integration, "would be a device-mode destination"],
    [`/proxy${integration}`, "would be a device-mode destination"],
    ["/next-integrations/", "is not an ingest path"],
  ] as const) {
    expect(await send(path, undefined, { method: "GET" })).toMatchObject({
      status: 404,
      json: { code: "unknown_path", message: expect.stringContaining(`${path} ${sentence}`) },
    });
  }
});

test("an unknown key gets no library, but a sentence, also one with odd characters", async () => {
  const { url } = await startIngestApp();
  for (const key of ["wk_wrong", "é\r\n\"*/'"]) {
    const answer = await fetch(
      `${url}/analytics.js/v1/${encodeURIComponent(key)}/analytics.min.js`,
    );
    expect([answer.status, answer.headers.get("content-type")]).toEqual([
      401,
      "text/javascript; charset=utf-8",
    ]);
    expect(answer.statusText).toMatch(/^Unauthorized: no source has the write key [!-~]+$/);
    expect(await answer.text()).toContain(JSON.stringify(JSON.stringify(key)).slice(1, -1));
  }
});

const opened = {
  writeKey,
  userId: "u1",
  event: "Mail Opened",
  properties: { subject: "A+B? >>>" },
};
const base64 = (text: string): string => Buffer.from(text).toString("base64");

async function expectPixel(answer: Response): Promise<void> {
  expect([answer.status, answer.headers.get("content-type")]).toEqual([200, "image/gif"]);
  expect(answer.headers.get("cache-control")).toBe("no-store");
  expect(Buffer.from(await answer.arrayBuffer()).toString("latin1")).toMatch(/^GIF89a\x01\0\x01\0/);
}

test.for<[string, string, Record<string, string>?]>([
  ["in base64", `data=${encodeURIComponent(base64(JSON.stringify(opened)))}`],
  ["in base64, its plus not encoded", `data=${base64(JSON.stringify(opened))}`],
  ["in base64 for addresses", `data=${Buffer.from(JSON.stringify(opened)).toString("base64url")}`],
  ["beside an empty key", `writeKey=&data=${base64(JSON.stringify(opened))}`],
  [
    "with Basic authorization",
    "userId=u1&event=Mail+Opened&properties.subject=A%2BB%3F+>>>",
    { Authorization: basic(writeKey) },
  ],
  ["as it is", `data=${encodeURIComponent(JSON.stringify(opened))}`],
  [
    "in parameters",
    `writeKey=${writeKey}&userId=u1&event=Mail+Opened&properties.subject=A%2BB%3F+>>>`,
  ],
])("a pixel's call is accepted %s", async ([, query, headers = {}]) => {
  const app = await startIngestApp();
  await expectPixel(await fetch(`${app.url}/v1/pixel/track?${query}`, { headers }));
  const [message] = await app.messages();
  expect(message).toMatchObject({
    type: "track",
    userId: "u1",
    event: "Mail Opened",
    request: { method: "GET" },
  });
  expect(JSON.parse((message?.raw ?? "") as string)).toMatchObject({
    properties: { subject: "A+B? >>>" },
  });
});

test("each type has its pixel, and a replay sends the same call again", async () => {
  const app = await startIngestApp();
  const call = { writeKey, userId: "u1", event: "e", groupId: "g", previousId: "p" };
  const types = ["identify", "track", "page", "screen", "group", "alias"];
  for (const type of types)
    await expectPixel(
      await fetch(`${app.url}/v1/pixel/${type}?data=${base64(JSON.stringify(call))}`),
    );
  const messages = await app.messages();
  expect(messages.map(({ type }) => type)).toEqual(types);
  await app.call("messages.replay", { id: messages[0]?.id ?? "" });
  expect((await app.messages()).map(({ type }) => type)).toEqual([...types, "identify"]);
});

test("a pixel that is wrong is an image too, and the inspector has the reason", async () => {
  const app = await startIngestApp();
  const pixel = (query: string) => fetch(`${app.url}/v1/pixel/track?${query}`);
  await expectPixel(await pixel(`data=${base64(JSON.stringify({ writeKey, userId: "u1" }))}`));
  await expectPixel(await pixel(`data=bm90IGpzb24&writeKey=${writeKey}`));
  await expectPixel(await pixel("data=bm90IGpzb24"));
  await expectPixel(await pixel(""));
  await expectPixel(await pixel(`${"a.".repeat(4000)}=1&__proto__.x=1&a=1&a.b=2`));
  expect((await app.messages()).map(({ reason }) => reason)).toEqual([
    "missing_event",
    "invalid_pixel_data",
  ]);
  const head = await fetch(`${app.url}/v1/pixel/track?data=${base64(JSON.stringify(opened))}`, {
    method: "HEAD",
  });
  expect([head.status, (await app.messages()).length]).toEqual([200, 2]);
});

test("a pixel with an unknown key is kept for adoption", async () => {
  const app = await startIngestApp();
  const data = base64(JSON.stringify({ ...opened, writeKey: "wk_mail" }));
  await expectPixel(await fetch(`${app.url}/v1/pixel/track?data=${data}`));
  expect(await app.call("unknownKeys.list", {})).toMatchObject({
    items: [{ writeKey: "wk_mail" }],
  });
  await app.call("unknownKeys.adopt", { writeKey: "wk_mail", name: "Mails" });
  expect(await app.messages()).toMatchObject([{ event: "Mail Opened", userId: "u1" }]);
});

test("a source's fault meets its pixels", async () => {
  const app = await startIngestApp({
    source: { faults: [{ do: "answer", status: 503, times: 1 }] },
  });
  const address = `${app.url}/v1/pixel/track?data=${base64(JSON.stringify(opened))}`;
  expect((await fetch(address)).status).toBe(503);
  await expectPixel(await fetch(address));
  expect((await app.messages()).length).toBe(1);
});
