import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { lastingPort } from "../../test/support/free-ports.ts";
import { askEffects, countEffects, stableEffects } from "./effects.ts";

describe("effects are counted in", () => {
  test.each<[what: string, text: string, count: number]>([
    ["no text", "", 0],
    ["lines", "order of user-1\r\norder of user-2\norder of user-1\n", 2],
    [
      "one JSON document a line",
      '{"userId":"user-1","items":[1]}\n{"userId":"user-1","items":[]}\n',
      2,
    ],
    ["a single JSON document of a log", '{"userId":"user-1","items":[1]}\n', 1],
    ["an array of texts", '["user-1","user-2","user-1"]', 2],
    [
      "an array of objects",
      '[{"userId":"user-1","properties":{"token":"user-1"}},{"userId":"user-2"}]',
      1,
    ],
    [
      "an array inside an object",
      '{"count":7,"orders":{"done":[{"user":"user-1"},{"user":"user-1"}]}}',
      2,
    ],
    ["two arrays", '{"orders":[{"user":"user-1"}],"mails":[{"to":"user-1"}]}', 2],
    ["rows of a table", '[[1,"user-1","{\\"token\\":\\"user-1\\"}"],[2,"user-1",null]]', 2],
    ["rows with a JSON member", '[["user-1",{"token":"user-1"}]]', 1],
    ["entries with orders", '[["user-1",[{"of":"user-1"},{"of":"user-1"}]],["user-2",[]]]', 2],
    ["an element with tags", '[{"user":"user-1","tags":["user-1","new","user-1"]}]', 1],
    [
      "an element with orders of its own",
      '[{"user":"user-1","orders":[{"user":"user-1"},{"user":"user-1"}]}]',
      2,
    ],
    [
      "groups of texts",
      '[{"day":"Monday","lines":["user-1 paid","user-1 paid"]},{"day":"Tuesday","lines":["user-2"]}]',
      2,
    ],
    ["the name of a member", '[{"user-1":{"total":7}}]', 1],
    ["numbers and escapes", '["\\u0075ser-1"]', 1],
    [
      "pretty-printed JSON",
      JSON.stringify({ orders: [{ user: "user-1", token: "user-1" }] }, null, 2),
      1,
    ],
    ["JSON with a byte order mark", '\uFEFF[{"user":"user-1"},{"user":"user-1"}]', 2],
    ["HTML", "<ul>\n<li>user-1</li>\n<li>user-1</li>\n</ul>", 2],
    ["longer tokens", '["user-10","auser-1","user-1é","user-1-a","order_user-1"]', 2],
    ["letters of two units", '["𝐀user-1","user-1𝐀","😀user-1😀"]', 1],
    ["a text with a longer token before it", '["user-10 user-1", "user-10 user-12"]', 1],
  ])("%s", (_what, text, count) => {
    expect(countEffects(text, "user-1")).toMatchObject({ count });
  });

  test("a token with signs of a pattern", () => {
    expect(countEffects("a.b (c)\naxb (c)", "a.b (c)")).toEqual({ count: 1, found: ["a.b (c)"] });
    expect(countEffects("[]\n-&&-", "-&&-").count).toBe(1);
    expect(countEffects("anything", "").count).toBe(0);
  });
});

test("the elements found are given as JSON", () => {
  expect(countEffects('{"all":[{"b":1,"a":"t"}]}', "t").found).toEqual(['{"b":1,"a":"t"}']);
});

describe("a number is stable", () => {
  async function asked(
    answers: string[],
    times: number,
    more: Pick<Parameters<typeof stableEffects>[0], "settleMs" | "whileAtWorkMs" | "workIn"> = {},
  ): Promise<{ count: number | undefined; asks: number; took: number }> {
    let asks = 0;
    let now = 0;
    const effects = await stableEffects({
      ask: () => {
        asks += 1;
        return Promise.resolve(answers[asks - 1] ?? answers.at(-1) ?? "");
      },
      wanted: new Map([["t", times]]),
      ...more,
      time: {
        now: () => now,
        pause: (ms) => {
          now += ms;
          return Promise.resolve();
        },
      },
    });
    return { count: effects.get("t")?.count, asks, took: now };
  }

  test("after two equal answers", async () => {
    expect(await asked(["t", "t\nt", "t\nt", "t"], 1)).toEqual({ count: 2, asks: 3, took: 500 });
  });

  test("not before as many are there as are waited for, up to three seconds", async () => {
    expect(await asked(["", "", "", "t"], 1)).toEqual({ count: 1, asks: 5, took: 1000 });
    expect(await asked([""], 1)).toEqual({ count: 0, asks: 13, took: 3000 });
    expect(await asked([""], 0)).toEqual({ count: 0, asks: 2, took: 250 });
  });
  test("after as long as the caller says", async () => {
    expect(await asked(["t"], 1, { settleMs: null })).toEqual({ count: 1, asks: 1, took: 0 });
    const late = ["", "", "", "", "t"];
    expect(await asked(late, 0, { settleMs: 1500 })).toEqual({ count: 1, asks: 11, took: 2500 });
  });
  test("later while the receiver is still at work", async () => {
    const work = Array.from({ length: 20 }, (_, nth) => "other ".repeat(nth));
    const more = { whileAtWorkMs: 30_000 };
    expect(await asked([...work, "t"], 1, more)).toEqual({ count: 1, asks: 22, took: 5250 });
    expect(await asked([...work, ""], 1, more)).toMatchObject({ count: 0, took: 8000 });
    const endless = Array.from({ length: 200 }, (_, nth) => "other ".repeat(nth));
    expect(await asked(endless, 1, more)).toMatchObject({ count: 0, took: 30_000 });
    const workIn = (text: string): number => text.split("own").length;
    expect(await asked(endless, 1, { ...more, workIn })).toMatchObject({ count: 0, took: 3000 });
  });
});

test("many tokens are counted in a turn of the event loop each", async () => {
  let turns = 0;
  let isOver = false;
  const count = (): void => {
    turns += 1;
    if (!isOver) setImmediate(count);
  };
  count();
  const wanted = new Map(Array.from({ length: 100 }, (_, n) => [`t-${n}`, 1]));
  const ask = () => Promise.resolve(JSON.stringify([...wanted.keys()]));
  const time = { now: () => 0, pause: () => Promise.resolve() };
  expect((await stableEffects({ ask, wanted, time })).get("t-99")?.count).toBe(1);
  isOver = true;
  expect(turns).toBeGreaterThan(200);
});

test("what is nested too deeply is counted as text", () => {
  const deep = `{"a":"t","b":${"[".repeat(100_000)}${"]".repeat(100_000)}}`;
  expect(countEffects(deep, "t")).toEqual({ count: 1, found: [deep] });
});

describe("asks", () => {
  async function serve(listener: RequestListener): Promise<string> {
    const server = createServer(listener);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}/effects`;
  }

  test("a URL", async () => {
    const url = await serve((_request, response) => response.end("émile\n"));
    expect(await askEffects({ url })).toBe("émile\n");
  });

  test("a name below localhost, which is this machine", async () => {
    const url = await serve((request, response) => response.end(request.headers.host));
    const named = url.replace("127.0.0.1", "shop.localhost");
    expect(await askEffects({ url: named })).toBe(new URL(named).host);
  });

  test.each<[what: string, listener: RequestListener, message: string]>([
    [
      "has no such page",
      (_, response) => response.writeHead(404).end(),
      "/effects answered 404 when it was asked for effects, not 200.",
    ],
    [
      "wants a login",
      (_, response) => response.writeHead(302, { Location: "/login" }).end(),
      "answered 302 when it was asked for effects, not 200. It redirects to /login, which is not followed.",
    ],
    ["resets", (request) => request.socket.resetAndDestroy(), "cannot be asked for effects"],
    [
      "ends early",
      (request, response) =>
        response
          .writeHead(200, { "Content-Length": 9 })
          .write("abc", () => request.socket.destroy()),
      "about effects ended early",
    ],
    [
      "says too much",
      (_, response) => response.end("a\n".repeat(2.2 * 1024 * 1024)),
      "answered with more than 4 MB",
    ],
  ])("a URL that %s: a sentence", async (_what, listener, message) => {
    await expect(askEffects({ url: await serve(listener) })).rejects.toThrow(message);
  });

  test("a URL where nobody listens", async () => {
    const port = await lastingPort();
    await expect(askEffects({ url: `http://127.0.0.1:${port}/` })).rejects.toThrow(
      "cannot be asked for effects: connect ECONNREFUSED",
    );
  });

  test("a command", async () => {
    expect(await askEffects({ command: "echo user-1" })).toMatch(/^user-1\r?\n$/);
    await expect(askEffects({ command: "echo broken >&2; exit 3" })).rejects.toThrow(
      /^The command for effects ended with 3: broken$/,
    );
  });
});
