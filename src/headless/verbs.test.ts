/** What the commands ask and print, without a process; test/command-line has them in a shell. */

import { expect, test as base } from "vitest";
import { starting, type RunningApp } from "../../test/support/running-app.ts";
import type { Change } from "../engine/pipeline.ts";
import { ingestFrom, send } from "./send-verb.ts";
import { tail } from "./tail-verb.ts";
import { clock, messages, retry, show, wait } from "./verbs.ts";

const test = base.extend("start", starting);

type Values = Record<string, string | boolean | undefined>;
const defaults = { limit: "20", count: "1", timeout: "0ms", "dry-run": false };

/** Each returns the exit code, what was printed as text and as JSON, and what was said. */
function commandsOf(app: RunningApp) {
  async function* changes(): AsyncGenerator<Change> {
    const queue: Change[] = [];
    let wake = Promise.withResolvers<void>();
    const unsubscribe = app.changes.subscribe((list) => {
      queue.push(...list);
      wake.resolve();
    });
    try {
      for (;;) {
        await wake.promise;
        wake = Promise.withResolvers();
        yield* queue.splice(0);
      }
    } finally {
      unsubscribe();
    }
  }
  const hookyard = {
    ...{ call: app.call, uiUrl: "http://127.0.0.1:1", token: "t" },
    async changes() {
      const list = changes();
      const first = list.next();
      return { [Symbol.asyncIterator]: () => ({ next: once(first, () => list.next()) }) };
    },
  };
  return async (
    verb: (asked: never) => Promise<number>,
    positionals: readonly string[] = [],
    values: Values = {},
    input = "",
    said: string[] = [],
  ) => {
    const printed: { value: unknown; text: string }[] = [];
    const asked = {
      ...{ hookyard, positionals, values: { ...defaults, ...values } },
      print: (value: unknown, text: string) => void printed.push({ value, text }),
      say: (sentence: string) => void said.push(sentence),
      input: async () => input,
      whenOver: () => new Promise<void>(() => undefined),
    };
    const code = await verb(asked as never);
    return { code, said, text: printed.map(({ text }) => text).join("\n"), printed };
  };
}

/** It subscribes when the first is asked for, before anything else can happen. */
function once<Value>(first: Promise<Value>, next: () => Promise<Value>): () => Promise<Value> {
  let isFirst = true;
  return () => {
    if (!isFirst) return next();
    isFirst = false;
    return first;
  };
}

const wrong = { name: "WrongInput" };

test("messages prints a page, and how to go on only when there is more", async ({ start }) => {
  const app = await start.app({ clock: "paused" });
  const run = commandsOf(app);
  await app.source();
  expect((await run(messages)).text).toBe("No messages.");
  for (const userId of ["a", "b", "c"]) await app.send({ userId });
  const page = await run(messages, [], { limit: "2" });
  expect(page.text.split("\n")).toEqual([
    expect.stringMatching(/ track Bought · c {2}no_destination$/),
    expect.stringMatching(/ track Bought · b {2}no_destination$/),
    expect.stringMatching(/^3 in all\. Continue with --cursor /),
  ]);
  const cursor = page.text.split(" ").at(-1) ?? "";
  expect((await run(messages, [], { limit: "2", cursor })).text).toMatch(
    /^\S+ {2}\S+ .+· a {2}\w+$/,
  );
  for (const limit of ["1", "200"]) expect((await run(messages, [], { limit })).code).toBe(0);
  for (const limit of ["0", "201", "1.5", "x"])
    await expect(run(messages, [], { limit })).rejects.toMatchObject(wrong);
  const found = async (values: Values, ...filter: string[]) =>
    (await run(messages, filter, values)).text.match(/· \w/g)?.join("") ?? "";
  expect(await found({ user: "b" })).toBe("· b");
  expect(await found({ state: "failed,filtered" }, "-user:c")).toBe("· b· a");
  expect(await found({ event: "Sold" })).toBe("");
  for (const words of [[""], ["user:"], ["user:b", " "]])
    for (const verb of [messages, wait])
      await expect(run(verb, words)).rejects.toMatchObject(wrong);
  expect((await run(messages, ["event:", "zzz"])).text).toBe("No message matches zzz.");
  for (const event of ["Order", "Order Completed"]) await app.send({ event });
  // Its first word is a name, so the second one is text.
  expect((await run(messages, ["event:order zzz"])).text).toBe(
    "No message matches event:order zzz. “zzz” was searched as text.",
  );
  expect((await run(messages, ["event:ord zzz"])).text).toBe('No message matches event:"ord zzz".');
  expect((await run(messages, ["event:ord user:a"])).text).toBe(
    "No message matches event:ord user:a.",
  );
});

test("show finds a message by its id and by its messageId, to the letter", async ({ start }) => {
  const app = await start.app({ clock: "paused" });
  const run = commandsOf(app);
  await app.source();
  const id = await app.send({ messageId: "order-1" });
  await app.send({ messageId: "order-10" });
  for (const wanted of [id, "order-1"])
    expect((await run(show, [wanted])).printed[0]?.value).toMatchObject({ id });
  await app.send({ messageId: id, userId: "named like another" });
  expect((await run(show, [id])).printed[0]?.value).toMatchObject({ messageId: "order-1" });
  for (const ids of [[], [id, id], [""], [" "]])
    await expect(run(show, ids)).rejects.toMatchObject(wrong);
});

test("show of a word that is in all messages ends", async () => {
  let asked = 0;
  const call = async () => ({ items: [], nextCursor: `msg_${(asked += 1)}` });
  const given = { hookyard: { call }, positionals: ["ada"] };
  await expect(show(given as never)).rejects.toMatchObject(wrong);
  expect(asked).toBe(20);
});

test("a messageId names its message among many like it, and not a later duplicate", async ({
  start,
}) => {
  const app = await start.app({ clock: "paused" });
  const run = commandsOf(app);
  await app.source();
  const batch = Array.from({ length: 1100 }, (_, at) => ({
    ...{ type: "track", userId: "u", event: "E", messageId: `m-${at + 1}` },
  }));
  await app.ingest("/v1/batch", { batch });
  const shown = async () => (await run(show, ["m-1"])).printed[0]?.value as { id: string };
  const { id } = await shown();
  expect((await app.message(id)).messageId).toBe("m-1");
  const duplicate = await app.send({ messageId: "m-1" });
  expect((await app.message(duplicate)).state).toBe("duplicate");
  expect((await shown()).id).toBe(id);
});

test("show prints what a receiver answered under its attempt, cut off at 200 characters", async ({
  start,
}) => {
  const app = await start.app({ clock: "paused" });
  const receiver = await start.receiver((response) =>
    response.writeHead(400).end("no".repeat(101)),
  );
  await app.destination([receiver.url]);
  const id = await app.send();
  await app.settle();
  const linesOf = async (message: string) =>
    (await commandsOf(app)(show, [message])).text.split("\n");
  expect((await linesOf(id)).slice(-4)).toEqual([
    expect.stringMatching(/^ {2}routed to {2}Receivers: /),
    expect.stringMatching(/^ {2}dlv_\d+ → Receivers: failed$/),
    expect.stringMatching(/^ {4}\S+ {2}round 1 {2}400 {2}\d+ ms {2}http:/),
    `      answered "${"no".repeat(100)}"`,
  ]);
  receiver.answer = (response) => void response.socket?.destroy();
  const unanswered = await app.send();
  await app.settle();
  expect((await linesOf(unanswered)).at(-1)).toMatch(/^ {6}\S/);
  await app.ingest("/v1/batch", { batch: [{ type: "track" }] });
  const { items } = await app.call("messages.list", { limit: 1 });
  expect((await linesOf(items[0]?.id ?? ""))[2]).toMatch(/^ {2}why {8}\S/);
});

test("wait ends when enough match, and else says what matches but for its state", async ({
  start,
}) => {
  const app = await start.app({ clock: "paused" });
  const run = commandsOf(app);
  await app.source();
  await app.send({ userId: "ada" });
  for (const values of [
    ...[{ count: "0" }, { count: "10001" }, { count: "1.5" }],
    ...[{ timeout: "soon" }, { timeout: "5" }, { timeout: "25d" }],
  ])
    await expect(run(wait, [], values)).rejects.toMatchObject(wrong);
  expect(await run(wait, [], { user: "ada" })).toMatchObject({ code: 0, said: [] });
  const state = await run(wait, [], { user: "ada", state: "delivered" });
  expect([state.code, state.text]).toEqual([4, "No message matches."]);
  expect(state.said.join()).toMatch(
    /^After 0ms, 0 of 1 messages match user:ada state:delivered\. In another state:\n.+filtered.+\nhookyard show msg_/,
  );
  expect((await run(wait, [], { count: "2" })).said).toEqual(["After 0ms, 1 of 2 messages match"]);
  expect((await run(wait, [], { user: "bob", state: "sending" })).said.join()).toContain(
    "No message matches the rest either",
  );
  const waiting = run(wait, [], { count: "2", timeout: "5m" });
  await app.send({ userId: "bob" });
  expect(await waiting).toMatchObject({ code: 0, printed: [{ value: { met: true, total: 2 } }] });
});

test("tail prints what arrives and what changes its state, and nothing that was there", async ({
  start,
}) => {
  const app = await start.app({ clock: "paused" });
  const run = commandsOf(app);
  const receiver = await start.receiver(503);
  await app.destination([receiver.url]);
  await app.send({ userId: "before" });
  await app.settle();
  for (const count of ["0", "1.5", "x"])
    await expect(run(tail, [], { count })).rejects.toMatchObject(wrong);
  const tailing = async (change: () => Promise<unknown>) => {
    const said: string[] = [];
    const tailed = run(tail, ["-user:other"], { count: "1" }, "", said);
    await expect.poll(() => said).toEqual(["Waiting for messages. Ctrl+C ends it."]);
    await change();
    return (await tailed).printed.map(({ value }) => value);
  };
  await app.send({ userId: "other" });
  expect(await tailing(() => app.send({ userId: "ada" }))).toMatchObject([{ userId: "ada" }]);
  await app.settle();
  const [ada] = (await app.call("messages.list", { userId: "ada" })).items;
  const { id } = await app.delivery(ada?.id ?? "");
  expect(await tailing(() => app.call("deliveries.cancel", { id }))).toMatchObject([
    { userId: "ada", state: "cancelled" },
  ]);
});

test("tail prints all of many at once, and what changes far below the newest ones", async ({
  start,
}) => {
  const app = await start.app({ clock: "paused" });
  const run = commandsOf(app);
  const receiver = await start.receiver(503);
  await app.destination([receiver.url]);
  const old = await app.send({ userId: "old" });
  await app.settle();
  const batch = Array.from({ length: 300 }, (_, index) => ({
    ...{ type: "page", userId: `u${index}` },
  }));
  const tailing = async (count: string, change: () => Promise<unknown>) => {
    const said: string[] = [];
    const tailed = run(tail, ["-state:sending,queued"], { count }, "", said);
    await expect.poll(() => said).toEqual(["Waiting for messages. Ctrl+C ends it."]);
    await change();
    return (await tailed).printed.map(({ value }) => value as { id: string; userId: string });
  };
  const printed = await tailing("300", () => app.ingest("/v1/batch", { batch }));
  expect(new Set(printed.map(({ userId }) => userId)).size).toBe(300);
  const { id } = await app.delivery(old);
  expect(await tailing("1", () => app.call("deliveries.cancel", { id }))).toMatchObject([
    { id: old, state: "cancelled" },
  ]);
});

test("clock shows, sets and moves the clock", async ({ start }) => {
  const app = await start.app();
  const run = commandsOf(app);
  const runs = async (...words: string[]) => (await run(clock, words)).text.slice(26);
  expect(await runs("pause")).toBe("paused; next due: nothing");
  expect(await runs()).toBe("paused; next due: nothing");
  expect(await runs("faster")).toBe("10 times faster; next due: nothing");
  expect(await runs("faster", "600")).toBe("600 times faster; next due: nothing");
  expect(await runs("real")).toBe("real time; next due: nothing");
  for (const words of [["idle"], ["next"], ["advance", "1s"], ["advance", "5ms"]])
    expect(await runs(...words)).toBe("real time; 0 attempts made; next due: nothing");
  for (const words of [
    ...[["later"], ["pause", "1s"], ["advance"], ["advance", "1"], ["advance", "1s", "2s"]],
    ...[
      ["faster", "20"],
      ["faster", "x"],
      ["idle", "x"],
    ],
  ])
    await expect(run(clock, words)).rejects.toMatchObject(wrong);
});

test("clock says when it did not get there", async ({ start }) => {
  const app = await start.app();
  const endedEarly = { code: "cancelled", message: "The advance was cancelled." };
  const call = (async (name: "clock.advance", input: { byMs: number }) => ({
    ...(await app.call(name, input)),
    endedEarly,
  })) as typeof app.call;
  const { code, said } = await commandsOf({ ...app, call })(clock, ["advance", "1s"]);
  expect([code, said]).toEqual([1, ["The clock did not get there. The advance was cancelled."]]);
});

test("retry takes ids of messages and deliveries, or a filter", async ({ start }) => {
  const app = await start.app({ clock: "paused" });
  const run = commandsOf(app);
  const receiver = await start.receiver(400);
  await app.destination([receiver.url]);
  const ids = [await app.send({ messageId: "one" }), await app.send()];
  await app.settle();
  const delivery = (await app.delivery(ids[1] ?? "")).id;
  const dry = { "dry-run": true };
  expect((await run(retry, [], { ...dry, filter: "state:failed" })).text).toBe(
    "2 deliveries can be retried.",
  );
  expect((await run(retry, ["one", delivery], dry)).printed[0]?.value).toEqual({ count: 2 });
  receiver.answer = 200;
  expect((await run(retry, [delivery])).text).toBe("1 delivery retried.");
  await app.settle();
  expect((await run(retry, [delivery], dry)).printed[0]?.value).toEqual({ count: 0 });
  await expect(run(retry, ["dlv_000000999"], dry)).rejects.toThrow("dlv_000000999");
  expect((await app.delivery(ids[1] ?? "")).attempts).toHaveLength(2);
  expect((await app.delivery(ids[0] ?? "")).attempts).toHaveLength(1);
  await expect(run(retry)).rejects.toMatchObject(wrong);
  await expect(run(retry, ["one"], { filter: "x" })).rejects.toMatchObject(wrong);
  // As of a variable that is not set.
  for (const filter of ["", " ", "user:"])
    await expect(run(retry, [], { filter })).rejects.toMatchObject(wrong);
  await expect(run(retry, [""])).rejects.toMatchObject(wrong);
  await expect(run(retry, ["unknown"])).rejects.toThrow("unknown");
});

test("send takes one call from flags, or messages in any of four forms", async ({ start }) => {
  const app = await start.app({ clock: "paused" });
  const run = commandsOf(app);
  const first = await run(send, ["track"], { event: "Bought", user: "ada" });
  expect(first).toMatchObject({ code: 0, said: [expect.stringContaining("There was no source")] });
  const raw = async (): Promise<unknown> => {
    const [newest] = (await app.call("messages.list", { limit: 1 })).items;
    return JSON.parse((await app.message(newest?.id ?? "")).raw as string);
  };
  const flags = { user: "ada", traits: '{"a":1}', integrations: '{"All":false}', group: "g" };
  expect((await run(send, ["group"], flags)).said).toEqual([]);
  expect(await raw()).toMatchObject({
    ...{ type: "group", userId: "ada", groupId: "g" },
    ...{ traits: { a: 1 }, integrations: { All: false } },
  });
  await run(send, ["track"], { event: "E", anonymous: "x", properties: "[1]" });
  expect(await raw()).toMatchObject({ anonymousId: "x", properties: [1] });
  const call = '{"type":"track","event":"E","userId":"bob"}';
  const forms = [call, `{"batch":[${call},${call}]}`, `[${call}]`, `${call}\n\n${call}\r\n${call}`];
  const counts = [];
  for (const input of forms) {
    const { value } = (await run(send, [], {}, input)).printed[0] ?? {};
    counts.push((value as { messages: unknown[] }).messages.length);
  }
  expect(counts).toEqual([1, 2, 1, 3]);
  const rejected = await run(send, [], {}, '{"type":"track","messageId":"m"}');
  expect([rejected.code, rejected.said.join()]).toEqual([1, expect.stringMatching(/^m was rej/)]);
  const mistakes: [string[], Values, string, string][] = [
    [["track", "page"], {}, "", "takes one type, not page as well"],
    [["track"], { properties: "{" }, "", "--properties is not valid JSON"],
    [["track"], { source: "none" }, "", "There is no source none. There are "],
    [[], { user: "ada" }, "", "Say which call"],
    [[], {}, " ", "needs a type such as track"],
    [[], {}, "{", "Standard input is not valid JSON"],
    [[], {}, `${call}\n{`, "Line 2 of standard input is not valid JSON"],
    [[], {}, `[${call},[]]`, "Message 2 of standard input is not a JSON object"],
  ];
  for (const [positionals, values, input, sentence] of mistakes)
    await expect(run(send, positionals, values, input)).rejects.toThrow(sentence);

  const deep = `${"[".repeat(20_000)}${"]".repeat(20_000)}`;
  const isTooDeep = (message: string) => ({ ...wrong, message });
  await expect(
    run(send, [], {}, `${call}\n{"type":"track","properties":${deep}}`),
  ).rejects.toMatchObject(isTooDeep("Line 2 of standard input is nested too deeply."));
  await expect(run(send, ["track"], { properties: deep })).rejects.toMatchObject(
    isTooDeep("--properties is nested too deeply."),
  );

  const { id } = await app.source();
  await app.call("sources.update", { id, faults: [{ do: "answer", status: 503 }] });
  const refused = await run(send, [], {}, call);
  expect([refused.code, refused.said]).toEqual([
    1,
    [expect.stringMatching(/^Ingest answered 503: [^{]/)],
  ]);
});

test.each([
  ["http://127.0.0.1:4701", "http://127.0.0.1:4700", "http://127.0.0.1:4700"],
  ["http://localhost:8701", "http://[::1]:4700", "http://[::1]:4700"],
  ["http://hookyard:4701", "http://127.0.0.1:4700", "http://hookyard:4700"],
  ["http://[fd00::2]:4701", "http://[::1]:4700", "http://[fd00::2]:4700"],
  ["http://hookyard:4701", "http://10.0.0.2:4700", "http://10.0.0.2:4700"],
])("of the Hookyard at %s, ingest at %s is reached at %s", (uiUrl, ingestUrl, reached) => {
  expect(ingestFrom(uiUrl, ingestUrl)).toBe(reached);
});

test("send writes numbers as they were written", async ({ start }) => {
  const app = await start.app({ clock: "paused" });
  const run = commandsOf(app);
  await app.source();
  const properties = '{"id":9007199254740993,"price":1.0,"list":[1e2,-0]}';
  const call = `{"type":"track","event":"E","userId":"u","properties":${properties}}`;
  const asWritten = [
    await run(send, ["track"], { event: "E", user: "u", properties }),
    await run(send, ["identify"], { user: "u", traits: properties }),
    ...[await run(send, [], {}, call), await run(send, [], {}, `{"batch":[${call}]}`)],
    await run(send, [], {}, `${call}\n${call}`),
  ];
  expect(asWritten.map(({ code }) => code)).toEqual([0, 0, 0, 0, 0]);
  const { items } = await app.call("messages.list", {});
  expect(items).toHaveLength(6);
  for (const { id } of items) expect((await app.message(id)).raw).toContain(properties);
  for (const input of ["5", "[1.0]"])
    await expect(run(send, [], {}, input)).rejects.toThrow("is not a JSON object");
});

test("send keeps what a batch says beside its messages, in each request", async ({ start }) => {
  const app = await start.app({ clock: "paused" });
  const { writeKey } = await app.source();
  const ingest = await start.receiver((response) => response.end('{"success":true}'));
  const call = (async (name: "about.get", input: object) => {
    const answer = await app.call(name, input);
    return name === "about.get" ? { ...answer, ingestUrl: ingest.url } : answer;
  }) as typeof app.call;
  const around = {
    sentAt: "2026-01-02T03:04:05.000Z",
    integrations: { All: false },
    context: { app: { name: "x".repeat(20_000) } },
  };
  const batch = Array.from({ length: 50 }, (_, at) => ({ type: "page", messageId: `m${at}` }));
  const input = JSON.stringify({ writeKey: "another", batch, ...around });
  await commandsOf({ ...app, call })(send, [], {}, input);
  const bodies = ingest.requests.map(({ body }) => JSON.parse(body) as { batch: unknown[] });
  expect(bodies.length).toBeGreaterThan(1);
  for (const body of bodies) expect(body).toEqual({ ...around, writeKey, batch: body.batch });
  expect(bodies.flatMap((body) => body.batch)).toEqual(batch);
});

test("send says what ingest rejected of many, and of a messageId that is none", async ({
  start,
}) => {
  const app = await start.app({ clock: "paused" });
  const run = commandsOf(app);
  await app.source();
  const sent = async (...messages: object[]) => {
    const input = messages.map((one) => JSON.stringify({ type: "page", userId: "u", ...one }));
    const { code, said, printed } = await run(send, [], {}, input.join("\n"));
    const { messages: answers } = (printed[0] as (typeof printed)[number]).value as {
      messages: { id: string | null; messageId: string; state: string; reason: string }[];
    };
    return { code, said, answers };
  };
  const many = Array.from({ length: 250 }, (_, at) => (at === 120 ? { userId: 5 } : {}));
  const one = await sent(...many);
  expect([one.code, one.said.length, one.answers[120]?.state]).toEqual([1, 1, "rejected"]);
  // All are named, not only the first hundred.
  expect(one.answers.filter(({ id }) => id !== null)).toHaveLength(250);
  const most = await sent(...many.map(() => ({ userId: 5 })));
  expect([most.code, most.said.length]).toEqual([1, 250]);
  const odd = await sent({ messageId: null }, { messageId: "" }, { messageId: 5 });
  expect(odd).toMatchObject({
    code: 1,
    said: [
      "5 was rejected, invalid_type: `messageId` must be a string, but it is a number. Send a string, or leave it out.",
    ],
    answers: [{ state: "filtered" }, { state: "filtered" }, { messageId: "5", state: "rejected" }],
  });
  // Ingest names a hundred, and these are not found by their messageId.
  const unnamed = await sent(...Array.from({ length: 103 }, () => ({ messageId: 5 })));
  expect([unnamed.code, unnamed.said.length, unnamed.said.at(-1)]).toEqual([
    ...[1, 101],
    "3 more were rejected. hookyard messages state:rejected lists them.",
  ]);
  const [once, other] = [{ messageId: "same" }, { messageId: "other" }];
  const same = await sent(once, other, once, once);
  expect(same.answers.map(({ state }) => state)).toEqual([
    ...["filtered", "filtered", "duplicate", "duplicate"],
  ]);
  expect(new Set(same.answers.map(({ id }) => id)).size).toBe(4);
});

test.for([
  ["cut", 0],
  ["lose-answer", 1],
] as const)("send says that a fault %s ended the connection", async ([fault, kept], { start }) => {
  const app = await start.app({ clock: "paused" });
  const { id } = await app.source({ faults: [{ do: fault }] });
  const sent = await commandsOf(app)(send, ["track"], { event: "Bought", user: "ada" });
  expect(sent).toMatchObject({
    code: 1,
    printed: [],
    said: [expect.stringMatching(/^Ingest closed the connection without an answer: the messages/)],
  });
  expect((await app.call("messages.list", { sourceId: id })).total).toBe(kept);
});
