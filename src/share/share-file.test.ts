import { createHash } from "node:crypto";
import { join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { isProblem } from "../domain/problem.ts";
import { buildIfStale, root } from "../launch/build.ts";
import { collectShare, openShare, shareApi, shareBytes } from "./share-file.ts";
import { startShop, track } from "./share.fixture.ts";

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

    const file = await shareBytes((await share({ secrets: true })).split("\n"), "hookyard", "");
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

  test("holds no secret that only a mapping, a deleted source, a header or a URL of one message has", async () => {
    const { call, share, send } = await startShop();
    const secret = (name: string): string =>
      `${name}-${createHash("sha256").update(name).digest("hex").slice(0, 20)}`;
    const planted = {
      templateHeader: secret("template"),
      literalHeader: secret("literal"),
      urlPassword: secret("pass"),
      urlToken: secret("query"),
      cookie: secret("cookie"),
      path: secret("path"),
      shared: secret('sh"a/r<é>d'),
      deletedKey: secret("deleted"),
    };
    const spelled = (text: string): string[] => {
      const json = JSON.stringify(text).slice(1, -1);
      return [
        text,
        json,
        JSON.stringify(json).slice(1, -1),
        json.replaceAll("/", "\\/").replaceAll("é", "\\u00e9"),
        encodeURIComponent(text),
        encodeURIComponent(text).replaceAll(/%../g, (code) => code.toLowerCase()),
        encodeURIComponent(encodeURIComponent(text)),
        new URLSearchParams({ a: text }).toString().slice(2),
        text.replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;"),
        Buffer.from(text).toString("hex"),
        Buffer.from(text).toString("hex").toUpperCase(),
        ...["", "x", "xy"].map((before) => Buffer.from(`${before}${text}:z`).toString("base64url")),
        Buffer.from(`user:${text}`).toString("base64"),
      ];
    };
    // A receiver that repeats everything, in each spelling.
    const { url } = await call<{ url: string }>("endpoints.create", {
      name: `repeats ${planted.shared}`,
      steps: [
        {
          do: "answer",
          status: 500,
          body: Object.values(planted).flatMap(spelled).join("\n"),
          headers: { "Set-Cookie": `sid=${planted.cookie}; Path=/` },
        },
      ],
    });
    const shop = await call<{ id: string }>("sources.create", {
      name: "Shop",
      writeKey: "wk_shop",
    });
    const gone = await call<{ id: string }>("sources.create", {
      name: "Gone",
      writeKey: planted.deletedKey,
    });
    const sourceIds = [shop.id, gone.id];
    await call("destinations.create", {
      name: `Ledger ${planted.shared}`,
      kind: "webhooks-actions",
      sourceIds,
      sharedSecret: planted.shared,
      mappings: [
        {
          name: "All",
          url: {
            "@template": `${url.replace("://", `://ada:${planted.urlPassword}@`)}?token=${planted.urlToken}&user={{userId}}`,
          },
          headers: {
            "@merge": {
              direction: "left",
              objects: [
                { Authorization: { "@template": `Bearer ${planted.templateHeader} {{userId}}` } },
                { "X-Api-Key": planted.literalHeader },
              ],
            },
          },
          data: { "@path": "$." },
        },
      ],
    });
    for (const key of ["wk_shop", planted.deletedKey])
      await send(
        key,
        { batch: [track("ada", { all: Object.values(planted).flatMap(spelled) })] },
        { cookie: `sid=${planted.cookie}` },
        `/v1/batch?access_token=${planted.path}`,
      );
    await call("pipeline.settle", {});
    await call("sources.delete", { id: gone.id });
    const leaked = (lines: string): string[] =>
      Object.entries(planted).flatMap(([name, each]) =>
        spelled(each).some((text) => lines.includes(JSON.stringify(text).slice(1, -1)))
          ? [name]
          : [],
      );
    expect(leaked(await share({ secrets: true })).length).toBe(Object.keys(planted).length);
    const lines = await share();
    const [, , ...messages] = lines.split("\n");
    const known = ["templateHeader", "literalHeader", "urlPassword", "urlToken", "shared"];
    expect(leaked(lines).filter((name) => known.includes(name))).toEqual([]);
    expect(leaked(messages.join("\n"))).toEqual(["deletedKey"]);
    // That the key of a source that is gone was one, only its own messages say.
    const own = messages.filter((line) => line.includes(gone.id)).join("\n");
    expect(leaked(own)).toEqual([]);
  });

  test("leaves out the values at its paths wherever the message has them", async () => {
    const { call, share, send } = await startShop();
    const shop = await call<{ id: string }>("sources.create", {
      name: "Shop",
      writeKey: "wk_shop",
    });
    const { url } = await call<{ url: string }>("endpoints.create", {
      name: "repeats",
      steps: [{ do: "answer", status: 500, body: "no: Bearer abc.def.ghi of ada@example.test" }],
    });
    await call("destinations.create", {
      name: "Mapped",
      kind: "webhooks-actions",
      sourceIds: [shop.id],
      mappings: [
        { name: "All", url, data: { credential: { "@path": "$.properties.Authorization" } } },
      ],
    });
    await send("wk_shop", {
      batch: [
        track("ada@example.test", { Authorization: "Bearer abc.def.ghi", plan: "pro" }),
        { ...track("ben", { note: "Bearer of news" }), integrations: { All: false } },
      ],
    });
    await call("pipeline.settle", {});
    const redact = ["properties.Authorization", "userId", "__proto__.x"];
    const [, , ...messages] = (await share({ redact })).split("\n");
    const lines = messages.join("\n");
    expect(lines).not.toContain("abc.def.ghi");
    expect(lines).not.toContain("ada@example.test");
    expect(lines).not.toContain('"userId":"ben"');
    expect(lines).toContain("Bearer of news");
    const [, , ...kept] = (await share({ secrets: true, redact: ["userId"] })).split("\n");
    expect(kept.join("\n")).not.toContain("ada@example.test");
    expect(kept.join("\n")).toContain("abc.def.ghi");
  });

  test("has every byte of messages whose answer leaves some out", async () => {
    const { call, share, send } = await startShop();
    const shop = await call<{ id: string }>("sources.create", {
      name: "Shop",
      writeKey: "wk_shop",
    });
    const { url } = await call<{ url: string }>("endpoints.create", {
      name: "down",
      steps: [{ do: "answer", status: 503, body: "x".repeat(60_000) }],
    });
    await call("destinations.create", {
      name: "Many",
      sourceIds: [shop.id],
      webhooks: Array.from({ length: 5 }, (_, place) => ({ url: `${url}?n=${place}` })),
    });
    await send("wk_shop", { batch: [track("ada", { text: "y".repeat(20_000) })] });
    await call("clock.advance", { byMs: 4 * 3_600_000 });
    const api = shareApi(await shareBytes((await share()).split("\n"), "hookyard", ""));
    if (isProblem(api)) throw new Error(api.message);
    const { items } = (await api.call("messages.list", {})).body as { items: { id: string }[] };
    type Details = { deliveries: { payload: string; attempts: { leftOut: boolean }[] }[] };
    const { body } = await api.call("messages.get", { id: items[0]?.id });
    const [delivery] = (body as Details).deliveries;
    expect(delivery?.payload).toContain("yyyy");
    expect(delivery?.attempts.length).toBeGreaterThan(20);
    expect(delivery?.attempts.filter(({ leftOut }) => leftOut)).toEqual([]);
  });

  test("is written by a call, of messages that are named, and one at a time", async () => {
    const { app, call, send } = await startShop();
    await call("sources.create", { name: "Shop", writeKey: "wk_shop_1" });
    await send("wk_shop_1", { batch: [track("ada"), track("ben"), track("eve")] });
    const { items } = await call<{ items: { id: string }[] }>("messages.list", {});
    const ids = items.slice(1).map(({ id }) => id);
    const [written, busy] = await Promise.all([
      app.api.call("shares.write", { ids }),
      app.api.call("shares.write", {}),
    ]);
    expect(busy).toMatchObject({ status: 409, body: { code: "share_busy" } });
    const { name, messages, base64 } = written.body as Record<string, string>;
    expect([name, messages]).toEqual([expect.stringMatching(/^hookyard-.*\.hookyard$/), 2]);
    const api = shareApi(Buffer.from(base64 ?? "", "base64"));
    if (isProblem(api)) throw new Error(api.message);
    expect((await api.call("messages.list", {})).body).toMatchObject({
      items: items.slice(1),
      total: 2,
    });
    expect(await app.api.call("shares.write", { ids: ["msg_000000009"] })).toMatchObject({
      status: 404,
    });
    for (const [filter, count] of [["user:ada", 1] as const, ["-user:ada,ben", 0] as const])
      expect(await app.api.call("shares.write", { ids, filter }), filter).toMatchObject({
        body: { messages: count },
      });
    expect(await app.api.call("shares.write", { ids, filter: "state:lost" })).toMatchObject({
      status: 400,
    });
    expect(await app.api.call("shares.write", { filter: "state:lost" })).toMatchObject({
      status: 400,
    });
    expect(await app.api.call("shares.write", { as: "html" })).toMatchObject({ status: 400 });
  });

  test("is not written further when its caller is gone", async () => {
    const { app, call, send } = await startShop();
    await call("sources.create", { name: "Shop", writeKey: "wk_shop_1" });
    await send("wk_shop_1", { batch: Array.from({ length: 40 }, () => track("ada")) });
    expect(await app.api.call("shares.write", {}, AbortSignal.abort())).toMatchObject({
      status: 409,
      body: { code: "share_cancelled" },
    });
    expect(await call("shares.progress", {})).toEqual({ writing: null });
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
      batch: [track("ada", { email: "ada@example.test", items: [{ price: 4711.0815 }], total: 3 })],
    });
    await call("pipeline.settle", {});
    const lines = await share({ redact: ["properties.email", "properties.items.price"] });
    expect(lines).not.toContain("ada@example.test");
    expect(lines).not.toContain("4711.0815");
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

  test("that a stranger has made is refused with a sentence, however it is wrong", async () => {
    const { call, share, send } = await startShop();
    await call("sources.create", { name: "Shop", writeKey: "wk_shop_1" });
    await send("wk_shop_1", { batch: [track("ada")] });
    const [head = "", answers = "", row = "", details = ""] = (await share()).split("\n");
    const stranger = (lines: string[]): ReturnType<typeof openShare> =>
      openShare(gzipSync(lines.join("\n")));
    for (const [lines, why] of [
      [[head, "{}", row, details], "it has no about.get"],
      [[head, `{"__proto__":{"about.get":{}}}`, row, details], "it has no about.get"],
      [[head, answers.replace('"deliveries":', '"x":'), row, details], "stats.get is wrong"],
      [[head, answers, '{"id":"msg_000000001"}', details], "message 1 is not JSON"],
      [[head.replace('"messages":1', '"messages":9999'), answers, row, details], "it ends before"],
      [
        [head.replace('"messages":1', '"messages":2'), answers, row, details, row, details],
        "message 2 appears twice",
      ],
    ] as const)
      expect(stranger([...lines]), why).toMatchObject({
        code: "share_damaged",
        message: expect.stringContaining(why) as string,
      });
    const odd = stranger([head, answers, row.replace('"marks":[', '"marks":[7'), '{"id":7}']);
    if (isProblem(odd)) throw new Error(odd.message);
    const { id } = JSON.parse(row) as { id: string };
    for (const [name, input] of [
      ["messages.list", {}],
      ["messages.list", { filter: "-status:5xx" }],
      ["messages.get", { id }],
    ] as const)
      expect(odd.call(name, input)).toMatchObject({ status: 400, body: { code: "share_damaged" } });
    for (const name of ["__proto__", "constructor", "../../etc/passwd", "stories.open"])
      expect(odd.call(name, {})).toMatchObject({ body: { code: "share_read_only" } });
    expect(({} as Record<string, unknown>)["about.get"]).toBeUndefined();
  });

  test("is compressed part by part, and has the same lines", async () => {
    const lines = Array.from({ length: 40 }, (_, place) => `Malmö ${"x".repeat(place * 2500)}`);
    const whole = [...lines, "", "y".repeat(300_000), ""];
    const file = await shareBytes(whole, "hookyard", "");
    expect(gunzipSync(file).toString().split("\n")).toEqual(whole);
  });

  test("that would fill the memory is refused before it does", () => {
    const million = Buffer.alloc(1_000_000);
    const bomb = gzipSync(Buffer.concat(Array.from({ length: 401 }, () => million)), { level: 1 });
    expect(bomb.length).toBeLessThan(4_000_000);
    expect(openShare(bomb)).toMatchObject({ code: "share_too_large" });
  });

  test("that is cut or changed at any place is refused or still a share file, and never thrown", async () => {
    const { call, share, send } = await startShop();
    await call("sources.create", { name: "Shop", writeKey: "wk_shop_1" });
    await send("wk_shop_1", { batch: [track("ada"), track("ben")] });
    const file = await shareBytes((await share()).split("\n"), "hookyard", "");
    let refused = 0;
    for (let place = 0; place < file.length; place += 7) {
      expect(isProblem(openShare(file.subarray(0, place)))).toBe(true);
      const changed = Uint8Array.from(file);
      changed[place] = (changed[place] as number) ^ 0x55;
      // Some bits say nothing about the data: those of the date, and those that fill a byte up.
      if (isProblem(openShare(changed))) refused += 1;
      else expect(gunzipSync(changed).equals(gunzipSync(file)), `byte ${place}`).toBe(true);
    }
    expect(refused).toBeGreaterThan((0.9 * file.length) / 7);
    const lines = gunzipSync(file).toString().split("\n");
    expect(openShare(gzipSync(lines.slice(0, -1).join("\n")))).toMatchObject({
      code: "share_damaged",
    });
  });
});

test("the page allows its own script by its digest and nothing else, and its data is base64", async () => {
  await buildIfStale();
  const hostile = "</script><script>alert(1)</script><img src=x onerror=alert(2)>";
  const page = Buffer.from(
    await shareBytes([hostile], "html", join(root, "out", "renderer")),
  ).toString();
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
