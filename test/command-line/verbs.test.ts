/** The commands with the headless host, and without any. */

import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { isProblem } from "../../src/domain/problem.ts";
import { commands } from "../../src/headless/commands.ts";
import { shareApi } from "../../src/share/share-file.ts";
import { verbAnswers, verbSchema } from "./answers.ts";
import { startHookyard, type Surroundings } from "../crash/hookyard-process.ts";
import { runInProcess, startInProcess } from "../support/in-process.ts";
import { startReceiver } from "../support/webhook-receiver.ts";
import { answerIn, hookyard, startHere } from "./command-line.ts";
import { beginner, directory, quietBrowser, verbsSuite } from "./verbs.suite.ts";

async function start(data: string, surroundings: Surroundings = {}): Promise<void> {
  const running = startHookyard(data, [], surroundings);
  onTestFinished(async () => {
    running.kill("SIGTERM");
    await running.ended;
  });
  expect(await running.ready, running.said.errors).toMatchObject({ token: expect.any(String) });
  answerIn("serve", running.said.output);
}

verbsSuite(start);

const uiUrlIn = (data: string): string =>
  (JSON.parse(readFileSync(join(data, "hookyard.running.json"), "utf8")) as { uiUrl: string })
    .uiUrl;

/**
 * The suite has every command and the host as processes; what commands do and say is asked for in
 * this one.
 */
const begin = beginner(async (data) => void (await startHere(data)), startInProcess);

test("a message is sent, waited for, listed, shown and retried", async () => {
  const { run, ask } = await begin();
  const order = ["track", "--event", "Order Completed", "--user", "u_1"];
  const sent = await ask("send", [...order, "--properties", '{"total":49.9}']);
  const [message] = sent.messages;
  const met = await ask("wait", ["--state", "delivered", "--user", "u_1", "last:1h"]);
  expect(met).toMatchObject({ met: true, total: 1, items: [{ id: message?.id }] });
  const listed = await ask("messages", ["--event", "Order Completed", "--limit", "5"]);
  expect(listed.items.map(({ id }) => id)).toEqual([message?.id]);
  for (const id of [message?.id ?? "", message?.messageId ?? ""]) {
    const shown = await ask("show", [id]);
    expect(shown).toMatchObject({ userId: "u_1", state: "delivered" });
    expect(shown.deliveries[0]?.attempts[0]?.response?.status).toBe(200);
  }
  const text = await run(["show", message?.id ?? ""]);
  expect(text.out).toMatch(/track Order Completed · u_1 {2}1 attempt\n[^]*round 1 {2}200 /);
  expect(await ask("retry", ["--filter", "state:delivered", "--dry-run"])).toMatchObject({
    count: 0,
  });
  expect(await ask("reset", [])).toMatchObject({ what: "messages" });
  expect((await run(["messages"])).out).toBe("No messages.\n");
  expect(await ask("reset", ["--everything"])).toMatchObject({ what: "everything" });
});

test("names with spaces need no quotes, and an empty list says what was searched for", async () => {
  const { run, ask } = await begin();
  for (const event of ["Order Completed", "Cart"])
    await ask("send", ["track", "--event", event, "--user", "u_1"]);
  const found = async (...filter: string[]): Promise<number> =>
    (await ask("messages", filter)).items.length;
  expect(await found("event:order", "completed", "user:u_1")).toBe(1);
  expect(await found("event:Order Completed,cart")).toBe(2);
  expect(await found("-event:order completed")).toBe(1);
  expect(await found("event:cart u_1")).toBe(1);
  expect((await run(["messages", "event:order", "shipped"])).out).toBe(
    "No message matches event:order shipped. “shipped” was searched as text.\n",
  );
  // Nothing has the name yet, and the shell has removed the quotes.
  const later = await run(["wait", "event:Order Shipped", "--timeout", "0ms"]);
  expect(later.err).toContain('messages match event:"Order Shipped".');
});

test("a failing receiver is configured by a file, and the clock brings its retries", async () => {
  const { data, run, ask } = await begin();
  const file = join(data, "hookyard.config.yaml");
  writeFileSync(
    file,
    `sources: [{ name: Shop, writeKey: wk_shop }]
endpoints:
  - { name: Flaky, steps: [{ do: answer, status: 503, times: 2 }, { do: answer, status: 200 }] }
destinations:
  - { name: Orders, sources: [Shop], webhooks: [{ endpoint: Flaky }], sharedSecret: s3cret }
`,
  );
  const applied = { file, created: 3, updated: 0, missing: [] };
  expect(await ask("apply", ["--config", file])).toMatchObject(applied);
  await ask("clock", ["pause"]);
  const [sent] = (await ask("send", [], '{"type":"track","event":"Paid","userId":"u_2"}')).messages;
  await ask("wait", ["--state", "waiting", "user:u_2"]);
  expect(await ask("clock", ["advance", "1s"])).toMatchObject({ mode: "paused" });
  expect(await ask("clock", ["idle"])).toMatchObject({ ran: { attempts: 2 }, nextDueAt: null });
  expect((await ask("show", [sent?.id ?? ""])).attempts).toBe(3);
  expect((await run(["clock"])).out).toMatch(/^\d{4}-\S+ {2}paused; next due: nothing\n$/);
  expect(await ask("clock", ["real"])).toMatchObject({ mode: "real" });

  const again = { created: 0, updated: 3 };
  expect(await ask("apply", ["--config", file])).toMatchObject(again);
  writeFileSync(file, "sources: [{ name: Web, writeKey: wk_web }]\n");
  expect((await ask("apply", ["--config", file])).kept).toEqual(
    expect.arrayContaining(["source Shop", "test endpoint Flaky", "destination Orders"]),
  );
  const webhook = '{ url: "http://127.0.0.1:9/", headers: { X-Api-Key: left-out } }';
  writeFileSync(file, `destinations: [{ name: Keyed, sources: [], webhooks: [${webhook}] }]\n`);
  expect(await run(["apply", "--config", file])).toMatchObject({
    code: 0,
    err: expect.stringMatching(
      /^A credential was left out, and Hookyard does not have it\. Enter it: Keyed: .+\.\n$/,
    ),
  });
});

test("tail prints messages as they arrive and change, as lines of JSON", async () => {
  const { data, ask } = await begin();
  await ask("send", ["identify", "--user", "before"]);
  const tail = startInProcess(["tail", "user:ada", "--count", "2", "--json", "--data", data]);
  await expect.poll(() => tail.said.err).toContain("Waiting for messages.");
  const lines = [
    JSON.stringify({ type: "page", userId: "bob" }),
    JSON.stringify({ type: "page", name: "Home\u001b[31m", userId: "ada" }),
    JSON.stringify({ type: "page", name: "Cart", userId: "ada" }),
  ];
  await ask("send", [], lines.join("\n"));
  const { code, out } = await tail.ended;
  expect(code).toBe(0);
  const seen = out.trimEnd().split("\n");
  expect(seen).toHaveLength(2);
  for (const line of seen) expect(answerIn("tail", line).userId).toBe("ada");
  const listed = await runInProcess(["messages", "user:ada", "--data", data]);
  expect(listed.out).not.toContain("\u001b");
  expect(listed.out).toContain(String.raw`Home\u001b[31m`);
});

test("tail ends with Ctrl+C, and when nobody reads its output any more", async () => {
  const { data, ask } = await begin();
  const started = async () => {
    const tail = hookyard(["tail", "--data", data]);
    await expect.poll(() => tail.said.err).toContain("Waiting for messages.");
    return tail;
  };
  const asked = await started();
  asked.kill("SIGINT");
  expect(await asked.ended).toMatchObject({ code: 0, out: "" });
  const unread = await started();
  unread.stopReading();
  await ask("send", ["page", "--user", "u_1"]);
  expect(await unread.ended).toMatchObject({ code: 0 });
});

test("what is wrong is a sentence with an exit code, and the token is in no argument", async () => {
  const { data, run } = await begin();
  const failures: [string[], number, RegExp, string?][] = [
    [["send", "track", "--event", "X"], 1, /reason|userId|rejected/i],
    [["send", "track", "--properties", "{"], 2, /^--properties is not valid JSON/],
    [["send"], 2, /^hookyard send needs a type such as track, or messages on standard input/],
    [["send"], 2, /^Line 2 of standard input is not valid JSON/, '{"type":"page"}\n{'],
    [["send", "track", "--source", "Nobody"], 2, /^There is no source Nobody\./],
    [["messages", "state:failing"], 2, /^Unknown state “failing”\. The states are /],
    [["messages", "--limit", "1000"], 2, /^--limit needs a number from 1 to 200/],
    [["show", "msg_0000000000"], 1, /msg_0000000000/],
    [["show"], 2, /^hookyard show needs the id of one message/],
    [["clock", "advance", "ten"], 2, /needs a duration such as 30s/],
    [["clock", "stop"], 2, /^hookyard clock does not know stop/],
    [["retry"], 2, /^hookyard retry needs ids/],
    [["retry", "dlv_0000000000"], 1, /dlv_0000000000/],
    [["wait", "--timeout", "soon"], 2, /^--timeout needs a duration/],
    [["wait", "--timeout", "1ms", "--user", "nobody"], 4, /^After 1ms, 0 of 1 messages match/],
    [["wait", "--state", "delivered", "--user", ""], 2, /^--user needs a value/],
    [["messages", "--event", " "], 2, /^--event needs a value/],
    [["messages", "--state", ""], 2, /^--state needs a value/],
    [["apply", "--config", join(data, "none.yaml")], 2, /none\.yaml was not found/],
    [["open", "--jsn"], 2, /^Unknown option '--jsn'/],
    [["reset", "messages"], 2, /^Unexpected argument 'messages'/],
    [["tail", "state:failing"], 2, /^Unknown state “failing”/],
    [["tail", "--count", "0"], 2, /^--count needs a number from 1/],
    [["backup"], 2, /^hookyard backup needs one file/],
    [["backup", join(data, "token")], 1, /token is part of the data itself/],
    [["share", "all.zip"], 2, /^hookyard share needs one file/],
    [["share", join(data, "no", "all.hookyard")], 1, /cannot be written: ENOENT/],
    [["share", "--filter", "state:x", join(data, "x.hookyard")], 1, /Unknown state “x”/],
  ];
  const ends = await Promise.all(failures.map(([args, , , input]) => run(args, input)));
  for (const [index, [args, code, sentence]] of failures.entries()) {
    expect({ args, ...ends[index] }).toEqual({
      args,
      code,
      out: expect.any(String),
      err: expect.stringMatching(sentence),
    });
  }
  for (const wanted of [1, 2, 4]) {
    const [args, code, sentence] =
      failures.find(([, code]) => code === wanted) ?? expect.unreachable();
    expect(await hookyard([...args, "--data", data]).ended).toMatchObject({
      code,
      err: expect.stringMatching(sentence),
    });
  }
  const token = readFileSync(join(data, "token"), "utf8");
  expect(ends.some(({ out, err }) => `${out}${err}`.includes(token))).toBe(false);
});

test("thousands of messages, and large ones, are sent in as many requests as it takes", async () => {
  const { data, ask } = await begin();
  // Of a source without destinations: nothing is delivered.
  const config = join(data, "hookyard.config.yaml");
  writeFileSync(config, "sources: [{ name: Shop }]");
  await ask("apply", ["--config", config]);
  const event = { type: "track", userId: "u", event: "E" };
  const small = Array.from({ length: 2_501 }, () => event);
  const large = Array.from({ length: 30 }, () => ({
    ...event,
    properties: { text: "x".repeat(20_000) },
  }));
  const lines = [...small, ...large].map((one) => JSON.stringify(one)).join("\n");
  const { messages } = await ask("send", [], lines);
  expect(messages).toHaveLength(2_531);
  expect(new Set(messages.map(({ id }) => id)).size).toBe(2_531);
  expect(messages.every(({ state }) => state === "filtered")).toBe(true);
  expect(await ask("wait", ["--count", "2531"])).toMatchObject({ met: true, total: 2_531 });
});

test("the first message of all gets a source, a destination and a test endpoint", async () => {
  const data = directory();
  await startHere(data);
  const sent = ["send", "track", "--event", "X", "--user", "u", "--data", data];
  const { code, err } = await runInProcess(sent);
  expect(code).toBe(0);
  expect(err).toMatch(/^There was no source, so Hookyard created one, with a destination/);
  const kept = await hookyard(["apply", "--data", data, "--json"], { cwd: data }).ended;
  expect(kept).toMatchObject({ code: 2, err: expect.stringContaining("no hookyard.config.yaml") });
  writeFileSync(join(data, "hookyard.config.json"), '{"ports":{"ui":1},"sources":[]}');
  const found = await hookyard(["apply", "--data", data, "--json"], { cwd: data }).ended;
  expect(answerIn("apply", found.out).kept).toEqual([
    "source First source",
    "test endpoint First",
    "destination First destination",
  ]);
});

test("each command with --json has a schema (npx vitest run test/command-line --update writes them again)", async () => {
  const withJson = commands.filter(({ flags }) => "json" in flags).map(({ name }) => name);
  expect(Object.keys(verbAnswers).toSorted()).toEqual(withJson.toSorted());
  await expect(`${JSON.stringify(verbSchema(), null, 2)}\n`).toMatchFileSnapshot(
    "../../resources/command-line.schema.json",
  );
});

test("without --source, a message is sent to the first one", async () => {
  const data = directory();
  await startHere(data);
  const config = join(data, "hookyard.config.json");
  writeFileSync(config, JSON.stringify({ sources: [{ name: "Shop" }, { name: "App" }] }));
  const run = (args: string[]) => runInProcess([...args, "--data", data]);
  await run(["apply", "--config", config]);
  expect(await run(["send", "track", "--event", "X", "--user", "u"])).toMatchObject({ code: 0 });
  const [message] = answerIn("messages", (await run(["messages", "--json"])).out).items;
  expect(message?.sourceId).toBe("src_000000001");
});

test("what others wrote reaches no terminal as an escape code, in text and in JSON", async () => {
  const data = directory();
  await startHere(data);
  const evil = "x\u001b[2J\u009b31m\u202e\u2028\r\n\u0007y";
  const receiver = await startReceiver((response) =>
    response.writeHead(400, { "X-Evil": "\u009b31m" }).end(evil),
  );
  onTestFinished(() => receiver.stop());
  const config = join(data, "hookyard.config.json");
  const named = { name: evil.replaceAll(/[\r\n]/g, ""), writeKey: "wk" };
  const destination = { name: evil, sources: ["wk"], webhooks: [{ url: receiver.url }] };
  writeFileSync(config, JSON.stringify({ sources: [named], destinations: [destination] }));
  const event = { type: "track", event: evil, userId: evil, messageId: evil, [evil]: evil };
  const run = (args: string[], input = "") => runInProcess([...args, "--data", data], { input });
  const ends = [await run(["apply", "--config", config])];
  writeFileSync(config, "{}");
  ends.push(await run(["apply", "--config", config]));
  ends.push(await run(["send"], JSON.stringify(event)));
  await run(["wait", "--state", "failed"]);
  const { items } = answerIn("messages", (await run(["messages", "--json"])).out);
  const tries: string[][] = [
    ["messages"],
    ["messages", evil],
    ["messages", `state:${evil}`],
    ["show", items[0]?.id ?? ""],
    ["show", items[0]?.id ?? "", "--json"],
    ["show", evil],
    ["wait", "--state", "failed"],
    ["wait", "--state", "delivered", "--user", evil, "--timeout", "1ms"],
    ["send", "track", "--source", evil],
    ["send", "track", "--event", "A"],
    ["retry", evil],
    ["retry", "--filter", `event:${evil}`],
  ];
  ends.push(...(await Promise.all(tries.map((args) => run(args)))));
  const tail = startInProcess(["tail", "--count", "1", "--data", data]);
  await expect.poll(() => tail.said.err).toContain("Waiting for messages.");
  await run(["send"], JSON.stringify({ ...event, messageId: "m_2" }));
  ends.push(await tail.ended);
  for (const { out, err } of ends)
    expect(out + err).not.toMatch(
      /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e]/,
    );
  expect(
    ends
      .map(({ out, err }) => out + err)
      .join("")
      .split(String.raw`\u001b[2J`).length,
  ).toBeGreaterThan(10);
  const shown = answerIn("show", ends[7]?.out ?? "");
  expect([shown.event, shown.messageId]).toEqual([evil, evil]);
});

test("without a running Hookyard each command says so with exit code 3", async () => {
  const data = directory();
  const { code, err } = await hookyard(["messages", "--data", data]).ended;
  expect([code, err]).toEqual([
    3,
    `No Hookyard runs with the data in ${data}. Start one with hookyard serve, or name the directory of the one that runs with --data.\n`,
  ]);
  const memory = await runInProcess(["clock", "--data", ":memory:"]);
  expect(memory).toMatchObject({ code: 3, err: expect.stringContaining("HOOKYARD_TOKEN") });
});

test("one that stores nothing is found by the environment, one that was killed is not", async () => {
  const memory = startHookyard(":memory:");
  const ready = await memory.ready;
  const env = { HOOKYARD_URL: ready?.uiUrl ?? "", HOOKYARD_TOKEN: ready?.token ?? "" };
  expect(await hookyard(["clock", "--json"], { env }).ended).toMatchObject({ code: 0 });
  const wrong = { ...env, HOOKYARD_TOKEN: "x" };
  expect(await runInProcess(["clock"], { env: wrong })).toMatchObject({ code: 3 });
  const following = ["wait", "tail"].map((name) => startInProcess([name], { env }));
  await expect.poll(() => following[1]?.said.err).toContain("Waiting for messages.");
  memory.kill("SIGTERM");
  await memory.ended;
  for (const { ended } of following)
    expect(await ended).toMatchObject({ code: 3, err: expect.stringContaining("Nothing answers") });
  expect(await runInProcess(["clock"], { env })).toMatchObject({
    code: 3,
    err: `Nothing answers at ${ready?.uiUrl}.\n`,
  });

  const data = directory();
  const killed = startHookyard(data);
  await killed.ready;
  expect(statSync(join(data, "hookyard.running.json")).mode & 0o777).toBe(0o600);
  expect(statSync(join(data, "certificates", "authority.pem")).isFile()).toBe(true);
  const second = await startHookyard(data).ended;
  expect(second).toMatchObject({
    code: 1,
    errors: expect.stringMatching(
      /^The data in .+ is in use by a running Hookyard \(hookyard serve, process \d+, http:\S+\)\. hookyard open shows it\./,
    ),
  });
  killed.kill("SIGKILL");
  await killed.ended;
  expect(await runInProcess(["clock", "--data", data])).toMatchObject({
    code: 3,
    err: expect.stringMatching(/^The Hookyard that ran as process \d+ no longer answers/),
  });
});

test.runIf(process.platform === "linux")(
  "open, and hookyard alone where there is a display, show the one that runs",
  async () => {
    const data = directory();
    const programs = directory();
    const opened = join(programs, "opened");
    const launcher = join(programs, "xdg-open");
    writeFileSync(launcher, `#!/bin/sh\necho "$1" >> "${opened}"\n`, { mode: 0o755 });
    await startHere(data);
    const env = { PATH: `${programs}:${process.env["PATH"]}` };
    const { code, out } = await hookyard(["open", "--json", "--data", data], { env }).ended;
    const { url } = answerIn("open", out);
    expect(code).toBe(0);
    expect(url).not.toContain("token");
    const alone = (DISPLAY: string) =>
      hookyard(["--data", data], { env: { ...env, DISPLAY, WAYLAND_DISPLAY: "" } }).ended;
    expect(await alone(":0")).toMatchObject({
      code: 0,
      err: expect.stringContaining("already runs"),
    });
    expect(await alone("")).toMatchObject({ code: 1, err: expect.stringContaining("is in use") });
    const links = readFileSync(opened, "utf8").trimEnd().split("\n");
    expect(links).toHaveLength(2);
    const address = `${url}/#token=${readFileSync(join(data, "token"), "utf8")}`;
    for (const link of links) {
      const led = await fetch(link, { redirect: "manual" });
      expect(url + led.headers.get("location")).toBe(address);
    }

    writeFileSync(launcher, "#!/bin/sh\nexit 3\n");
    expect(await runInProcess(["open", "--data", data], { env })).toEqual({
      code: 1,
      out: "",
      err: `The browser could not be opened. Open this address yourself: ${address}\n`,
    });
  },
);

test("share leaves nothing behind but its file, and whoever opens that nothing at all", async () => {
  const [data, temporary] = [directory(), directory()];
  await startHere(data);
  const file = join(directory(), "all.hookyard");
  const env = { ...quietBrowser(directory()), TMPDIR: temporary };
  const run = (...args: string[]) => hookyard(args, { env });
  expect(await run("share", file, "--data", data).ended).toMatchObject({ code: 0, err: "" });
  expect(statSync(file).mode & 0o777).toBe(0o600);
  const shareHere = (...args: string[]) =>
    runInProcess(["share", file, ...args, "--data", data], { env });
  expect(await shareHere()).toMatchObject({
    code: 1,
    err: `${file} already exists. --force replaces it.\n`,
  });
  expect(await shareHere("--force")).toMatchObject({ code: 0 });
  expect(readdirSync(temporary)).toEqual([]);

  const opened = run(file);
  onTestFinished(() => void opened.kill("SIGKILL"));
  await expect.poll(() => opened.said.out).toMatch(/ {2}Inspector {2}http:\/\/127\.0\.0\.1:\d+\//);
  const [, port = ""] = /:(\d+)\//.exec(opened.said.out) ?? [];
  expect(await run(file, "--no-open", "--ui-port", port).ended).toMatchObject({
    code: 1,
    out: "",
    err: `Port ${port} is in use by another program. Choose another with --ui-port N (0 picks a free one).\n`,
  });
  opened.kill("SIGTERM");
  expect(await opened.ended).toMatchObject({ code: 0, err: "" });
  expect(readdirSync(temporary)).toEqual([]);
});

test("share asks the Hookyard at HOOKYARD_URL, unless --data is given", async () => {
  const [data, other] = [directory(), directory()];
  await startHere(data);
  const env = {
    HOOKYARD_URL: uiUrlIn(data),
    HOOKYARD_TOKEN: readFileSync(join(data, "token"), "utf8"),
    HOOKYARD_DATA: other,
  };
  const run = (...args: string[]) => runInProcess(args, { env });
  await run("send", "page", "--user", "ada");
  await run("send", "page", "--user", "bob");
  const file = join(other, "ada.hookyard");
  const shared = await run("share", file, "--filter", "user:ada", "--json");
  expect(shared).toMatchObject({ code: 0, err: "" });
  expect(answerIn("share", shared.out)).toMatchObject({ file, messages: 1 });
  const api = shareApi(readFileSync(file));
  if (isProblem(api)) throw new Error(api.message);
  const { body } = await api.call("messages.list", {});
  expect(body).toMatchObject({ items: [{ userId: "ada" }], total: 1 });
  const again = [await run("share", file), await run("share", file, "--data", other)];
  expect(again).toMatchObject([
    { code: 1, err: `${file} already exists. --force replaces it.\n` },
    { code: 1, err: expect.stringContaining(other) },
  ]);
  const gone = { env: { ...env, HOOKYARD_URL: "http://127.0.0.1:9" } };
  expect(await runInProcess(["share", file], gone)).toMatchObject({ code: 3 });
});
