import { createHash } from "node:crypto";
import { gunzipSync, gzipSync } from "node:zlib";
import { describe, expect, onTestFinished, test } from "vitest";
import { startInMemory } from "../app.ts";
import { isProblem } from "../domain/problem.ts";
import { buildIfStale, root } from "../launch/build.ts";
import { collectShare, compressed, openShare, shareApi, sharePage } from "./share-file.ts";

type Asked = { secrets?: boolean; redact?: string[]; filter?: string };

async function startShop() {
  const app = await startInMemory({
    startAt: Date.parse("2026-11-22T10:00:00Z"),
    version: "1.2.3",
  });
  onTestFinished(() => app.stop());
  const call = async <Answer>(name: string, input: unknown): Promise<Answer> => {
    const { status, body } = await app.api.call(name, input);
    expect(status, `${name}: ${JSON.stringify(body)}`).toBeLessThan(400);
    return body as Answer;
  };
  const share = async ({ secrets = false, redact = [], filter = "" }: Asked = {}) => {
    const lines = await collectShare({
      ...app,
      version: "1.2.3",
      savedAt: "2026-11-22T10:00:00.000Z",
      secrets,
      redact,
      filter,
    });
    if (typeof lines !== "string") throw new Error(lines.message);
    return lines;
  };
  const send = (
    key: string,
    body: unknown,
    headers: Record<string, string> = {},
    path = "/v1/batch",
  ) =>
    fetch(`${app.ingestUrl}${path}`, {
      method: "POST",
      headers: {
        authorization: `Basic ${Buffer.from(`${key}:`).toString("base64")}`,
        "content-type": "application/json",
        ...headers,
      },
      body: JSON.stringify(body),
    });
  return { app, call, share, send };
}

const track = (userId: string, properties: unknown = {}) => ({
  type: "track",
  event: "Order Completed",
  userId,
  properties,
});

describe("a share file", () => {
  test("answers as the Hookyard that it was saved from, without one", async () => {
    const { app, call, share, send } = await startShop();
    const source = await call<{ id: string }>("sources.create", {
      name: "Shop",
      writeKey: "wk_shop_1",
    });
    const { url } = await call<{ url: string }>("endpoints.create", {
      name: "flaky",
      steps: [{ do: "answer", status: 503 }],
    });
    await call("destinations.create", {
      name: "Billing",
      sourceIds: [source.id],
      webhooks: [{ url }],
    });
    await send("wk_shop_1", { batch: [track("ada", { total: 7 }), track("ben")] });
    await call("pipeline.settle", {});

    const file = compressed(await share({ secrets: true }));
    const api = shareApi(file);
    if (isProblem(api)) throw new Error(api.message);
    for (const name of ["sources.list", "destinations.list", "clock.get"])
      expect((await api.call(name, {})).body).toEqual((await app.api.call(name, {})).body);
    type List = { items: { id: string }[]; total: number; nextCursor: string | null };
    const list = (await api.call("messages.list", { limit: 1 })).body as List;
    const own = await call<List>("messages.list", { limit: 1 });
    expect(list.items).toEqual(own.items);
    expect(list).toMatchObject({ total: 2, nextCursor: list.items[0]?.id });
    const [{ id } = { id: "" }] = list.items;
    expect((await api.call("messages.get", { id })).body).toEqual(
      await call("messages.get", { id }),
    );
    for (const [filter, total] of [
      ["user:ada", 1],
      ["state:waiting", 2],
      ["-user:ada", 1],
      ["status:5xx", 2],
      ["outcome:timeout", 0],
      ["total", 1],
      [`source:${source.id}`, 2],
    ] as const)
      expect((await api.call("messages.list", { filter })).body, filter).toMatchObject({ total });
    expect(await api.call("messages.replay", { id })).toMatchObject({
      status: 409,
      body: { code: "share_read_only" },
    });
  });

  test("holds none of a thousand planted secrets, however they were written down", async () => {
    const { call, share, send } = await startShop();
    const planted: string[] = [];
    const plant = (kind: string, sign = ""): string => {
      const digest = createHash("sha256").update(`${kind} ${planted.length}`).digest("hex");
      const secret = `${kind}${sign}${digest.slice(0, 24)}`;
      planted.push(secret);
      return secret;
    };
    const { url } = await call<{ url: string }>("endpoints.create", {
      name: "ok",
      steps: [{ do: "answer" }],
    });
    for (let each = 0; each < 100; each += 1) {
      const writeKey = plant("wk");
      const source = await call<{ id: string }>("sources.create", { name: `S ${each}`, writeKey });
      const sharedSecret = plant("secret", ' "\\/+ü');
      const tokens = [plant("tok"), plant("api", "&=%"), plant("pass", "@:")];
      await call("destinations.create", {
        name: `D ${each}`,
        sourceIds: [source.id],
        sharedSecret,
        webhooks: [
          {
            url: `${url.replace("://", `://user:${encodeURIComponent(tokens[2] ?? "")}@`)}?token=${plant("query")}&api_key=${encodeURIComponent(tokens[1] ?? "")}`,
            headers: { Authorization: `Bearer ${tokens[0]}`, "X-Api-Key": plant("header") },
          },
        ],
      });
      await send(
        writeKey,
        // What clients write into messages by mistake: secrets that the configuration knows.
        { batch: [track("ada", { sharedSecret, writeKey, token: tokens[0], deep: [tokens] })] },
        { cookie: `session=${plant("cookie")}`, "x-auth-token": plant("sent") },
        `/v1/batch?access_token=${plant("path")}`,
      );
    }
    await call("pipeline.settle", {});
    expect(planted.length).toBeGreaterThanOrEqual(1000);
    const lines = await share();
    const written = await share({ secrets: true });
    const spelled = (secret: string): string[] => [
      secret,
      JSON.stringify(secret).slice(1, -1),
      JSON.stringify(JSON.stringify(secret)).slice(3, -3),
      encodeURIComponent(secret),
      Buffer.from(`${secret}:`).toString("base64"),
    ];
    const found = (text: string): string[] =>
      planted.filter((secret) => spelled(secret).some((each) => text.includes(each)));
    expect(found(lines)).toEqual([]);
    expect(found(written).length).toBeGreaterThan(900);
    expect(lines).toContain("left-out");
  });

  test("leaves out what its paths name, in the message and in what was sent", async () => {
    const { call, share, send } = await startShop();
    const source = await call<{ id: string }>("sources.create", {
      name: "Shop",
      writeKey: "wk_shop_1",
    });
    const { url } = await call<{ url: string }>("endpoints.create", {
      name: "ok",
      steps: [{ do: "answer" }],
    });
    await call("destinations.create", {
      name: "Billing",
      sourceIds: [source.id],
      webhooks: [{ url }],
    });
    await send("wk_shop_1", {
      batch: [track("ada", { email: "ada@example.test", items: [{ price: 4711 }], total: 3 })],
    });
    await call("pipeline.settle", {});
    const lines = await share({ redact: ["properties.email", "properties.items.price"] });
    expect(lines).not.toContain("ada@example.test");
    expect(lines).not.toContain("4711");
    expect(lines).toContain("total");
    expect(await share()).toContain("ada@example.test");
  });

  test("has only what a filter matches, and says what is wrong with one", async () => {
    const { app, call, share, send } = await startShop();
    await call("sources.create", { name: "Shop", writeKey: "wk_shop_1" });
    await send("wk_shop_1", { batch: [track("ada"), track("ben")] });
    expect((await share({ filter: "user:ada" })).split("\n")).toHaveLength(4);
    expect(
      await collectShare({
        ...app,
        version: "1",
        savedAt: "",
        secrets: false,
        redact: [],
        filter: "state:lost",
      }),
    ).toMatchObject({ problem: true });
  });

  test.each([
    ["nothing", Buffer.from(""), "not_a_share_file"],
    ["a picture", Buffer.from("\u0089PNG\r\n"), "not_a_share_file"],
    ["other compressed data", gzipSync("hello"), "not_a_share_file"],
    ["JSON of somebody else", gzipSync('{"hookyard":true}\n{}'), "not_a_share_file"],
    ["a newer format", gzipSync('{"hookyard":"share","format":9}\n{}'), "share_newer"],
  ])("that is %s is refused with a sentence", (_, file, code) => {
    const opened = openShare(file);
    expect(opened).toMatchObject({ problem: true, code });
    expect((opened as { message: string }).message).toMatch(/\.$/);
  });

  test("that is cut or changed at any place is refused or still a share file, and never thrown", async () => {
    const { call, share, send } = await startShop();
    await call("sources.create", { name: "Shop", writeKey: "wk_shop_1" });
    await send("wk_shop_1", { batch: [track("ada"), track("ben")] });
    const file = compressed(await share());
    for (let place = 0; place < file.length; place += 7) {
      expect(isProblem(openShare(file.subarray(0, place)))).toBe(true);
      const changed = Uint8Array.from(file);
      changed[place] = (changed[place] as number) ^ 0x55;
      // The first bytes also hold a date and a system, which say nothing about the data.
      if (place > 10) expect(isProblem(openShare(changed)), `byte ${place}`).toBe(true);
    }
    const lines = gunzipSync(file).toString().split("\n");
    expect(openShare(gzipSync(lines.slice(0, -1).join("\n")))).toMatchObject({
      code: "share_damaged",
    });
  });
});

test("the page allows its own script by its digest and nothing else, and its data is base64", async () => {
  await buildIfStale();
  const hostile = "</script><script>alert(1)</script><img src=x onerror=alert(2)>";
  const page = sharePage(hostile, root);
  expect(page).not.toContain("alert(1)");
  expect(page).not.toContain("onerror=alert");
  const policy = /Content-Security-Policy" content="([^"]+)"/.exec(page)?.[1] ?? "";
  const script = /<script type="module">(.*)<\/script>\n<\/body>/s.exec(page)?.[1] ?? "";
  const digest = createHash("sha256").update(script).digest("base64");
  expect(policy).toContain(`script-src 'sha256-${digest}';`);
  expect(policy).toContain("default-src 'none'");
  expect(policy).not.toMatch(/connect-src|unsafe-eval|script-src[^;]*unsafe/);
  expect(page.match(/<\/script>/g)).toHaveLength(2);
});
