/** Stories: scenarios with captions, played beside the user's own pipeline, the same every time. */

import { once } from "node:events";
import { readdirSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test, vi } from "vitest";
import { createSwitchedApi } from "../../src/api/switched-api.ts";
import { PortTaken } from "../../src/app-errors.ts";
import { createApp, startInMemory } from "../../src/app.ts";
import type { StoryAnswer } from "../../src/contract/stories.ts";
import { isProblem } from "../../src/domain/problem.ts";
import { createStories } from "../../src/scenarios/story/stories.ts";
import { typedCalls, type ScenarioPipeline } from "../../src/scenarios/run/pipeline.ts";
import { lastingPort } from "../support/free-ports.ts";

const directory = fileURLToPath(new URL("../../resources/scenarios/", import.meta.url));
const stories = readdirSync(directory).filter((file) => file.startsWith("story-"));

async function withApp(run: (app: ReturnType<typeof createApp>) => Promise<void>): Promise<void> {
  const unexpected: unknown[] = [];
  const app = createApp({
    data: ":memory:",
    ports: { ingest: 0, endpoints: 0, endpointsTls: 0 },
    scenarios: directory,
    version: "0.0.0",
    report: (error) => unexpected.push(error),
  });
  await app.start();
  try {
    await run(app);
  } finally {
    await app.stop();
  }
  expect(unexpected).toEqual([]);
}

const own = (app: ReturnType<typeof createApp>): ScenarioPipeline => typedCalls(app.api.call);

function beside(app: ReturnType<typeof createApp>, id: string): ScenarioPipeline {
  const api = app.api.beside(id);
  if (api === undefined) throw new Error(`there is no pipeline ${id}`);
  return typedCalls(api.call);
}

/** Everything that a page can show of a pipeline. */
async function everything({ call }: ScenarioPipeline): Promise<string> {
  const { items } = await call("messages.list", { limit: 1000 });
  const endpoints = (await call("endpoints.list", {})).items;
  return JSON.stringify(
    [
      await call("clock.get", {}),
      items,
      await Promise.all(items.map(({ id }) => call("messages.get", { id }))),
      (await call("audiences.list", {})).items,
      (await call("profiles.list", {})).items,
      (await call("destinations.list", {})).items,
      (await call("sources.list", {})).items,
      (await call("deletions.list", {})).items,
      endpoints,
      await Promise.all(endpoints.map(({ id }) => call("endpoints.requests", { id, limit: 1000 }))),
    ],
    null,
    1,
  );
}

const withoutRun = ({ run: _run, ...story }: StoryAnswer): string => JSON.stringify(story, null, 1);

test.each(stories)(
  "%s: every scene holds, and from the start, back and forth it is the same to the byte",
  async (file) => {
    await withApp(async (app) => {
      const { call } = own(app);
      const { id, scenes, at } = await call("stories.open", { file });
      expect(at).toBe(0);
      // The system may give any other to somebody else while the story begins again.
      const { ingestUrl } = await beside(app, id).call("about.get", {});
      expect(Number(new URL(ingestUrl).port)).toBeLessThan(32_768);
      const seen: string[] = [];
      for (const scene of scenes.keys()) {
        const story = await call("stories.go", { id, to: scene + 1 });
        expect(story.scenes[scene]).toMatchObject({ state: "passed", problems: [] });
        seen.push(withoutRun(story) + (await everything(beside(app, id))));
      }
      await call("stories.go", { id, to: 0, again: true });
      for (const scene of scenes.keys()) {
        const story = await call("stories.go", { id, to: scene + 1 });
        expect(withoutRun(story) + (await everything(beside(app, id)))).toBe(seen[scene]);
      }
      for (let again = 0; again < 2; again += 1) {
        const { scenes: played } = await call("stories.go", { id, to: scenes.length, again: true });
        expect(played.map(({ problems }) => problems).flat()).toEqual([]);
      }
      const back = await call("stories.go", { id, to: scenes.length - 2 });
      expect(withoutRun(back) + (await everything(beside(app, id)))).toBe(seen[scenes.length - 3]);
    });
  },
);

test("a story changes nothing of the user's own, and is gone when it is closed", async () => {
  await withApp(async (app) => {
    const { call } = own(app);
    await call("workspaces.open", { kind: "first" });
    const before = [await call("stats.get", {}), (await call("sources.list", {})).items];
    const { id, scenes } = await call("stories.open", { file: "story-demo.yaml" });
    await call("stories.go", { id, to: scenes.length });
    expect([await call("stats.get", {}), (await call("sources.list", {})).items]).toEqual(before);
    expect((await call("stories.list", {})).items).toHaveLength(1);
    await call("stories.close", { id });
    expect(app.api.beside(id)).toBeUndefined();
    expect((await call("stories.list", {})).items).toEqual([]);
    expect(await app.api.call("stories.go", { id, to: 1 })).toMatchObject({ status: 404 });
  });
});

const story = (scene: string): string => `
name: A story
endpoints: { Receiver: [{ status: 200 }] }
destinations: { Shop: { webhooks: [{ endpoint: Receiver }] } }
steps:
  - ${scene}
    send: { type: track, event: Bought, userId: ada }
  - expect:
      - deliveries: { count: 2 }
`;

test("a scene whose expectation does not hold says so, and so does a caption whose value is not there", async () => {
  await withApp(async (app) => {
    const { call } = own(app);
    const { id } = await call("stories.open", {
      text: story('caption: "{ada} lives in {ada.city}"'),
    });
    const { scenes } = await call("stories.go", { id, to: 1 });
    expect(scenes).toMatchObject([{ state: "failed", caption: null }]);
    expect(scenes[0]?.problems).toEqual([
      expect.stringMatching(/^Expected deliveries: count 2, but .*1/) as string,
      "The caption says {ada.city}, which has no value at this moment.",
    ]);
  });
});

test("what goes wrong before the first scene is told there, and a delivery that is over takes no more time", async () => {
  const text = `
name: A story
endpoints: { Receiver: [{ status: 404 }] }
destinations: { Shop: { webhooks: [{ endpoint: Receiver }] } }
steps:
  - send: { type: track, event: Bought, userId: ada }
    answers: 400
  - expect: { deliveries: { state: delivered } }
  - caption: "{Shop.took}"
    advance: 1d
  - caption: "{Shop.took}"
    advance: 1d
`;
  await withApp(async (app) => {
    const { call } = own(app);
    const { id } = await call("stories.open", { text });
    for (const run of [1, 2]) {
      const { scenes } = await call("stories.go", { id, to: 2, again: run === 2 });
      expect(scenes.map(({ state }) => state)).toEqual(["failed", "passed"]);
      expect(scenes[0]?.problems).toEqual([
        expect.stringContaining("400") as string,
        expect.stringMatching(/^Expected deliveries: state delivered, but .*failed/) as string,
      ]);
      expect(scenes.map(({ caption }) => caption?.map((part) => part.text).join(""))).toEqual([
        "no time",
        "no time",
      ]);
    }
  });
});

test("a scene goes on when the user has deleted its endpoints, and a step back brings them back", async () => {
  await withApp(async (app) => {
    const { call } = own(app);
    const text = `${story('caption: "{ada} buys"')}  - caption: "{Receiver.requests} so far"\n    advance: 1s\n`;
    const { id } = await call("stories.open", { text });
    await call("stories.go", { id, to: 1 });
    await beside(app, id).call("pipeline.reset", { what: "everything" });
    const { scenes } = await call("stories.go", { id, to: 2 });
    expect(scenes[1]).toMatchObject({ state: "passed", caption: [{ text: "0" }, {}] });
    await call("stories.go", { id, to: 0 });
    const played = (await call("stories.go", { id, to: 2 })).scenes;
    expect(played[1]).toMatchObject({ state: "passed", caption: [{ text: "1" }, {}] });
  });
});

test("the flow of a story says how long attempts are in flight by the story's clock", async () => {
  await withApp(async (app) => {
    const { call } = own(app);
    const { id } = await call("stories.open", {
      text: story('caption: "{ada} buys"\n    open: flow').replace(
        "{ status: 200 }",
        "{ delay: 1s, status: 200 }",
      ),
    });
    await call("stories.go", { id, to: 1 });
    const { webhooks, moving } = await beside(app, id).call("flow.get", {});
    expect(webhooks).toMatchObject([{ inFlight: 1, inFlightMs: 0 }]);
    expect(moving.attempts).toMatchObject([{ outcome: null, agoMs: 0 }]);
  });
});

test.each([
  ["caption: 3 orders", /The number 3 does not come from what happened/],
  ["caption: Ada buys", /Write the name ada in braces/],
  ['caption: "{Receiver.size}"', /The endpoint Receiver has no such value/],
  ['caption: "{nobody}"', /names nothing of this file. Known: Shop, Receiver, ada/],
  ["why: because", /why requires a caption/],
  ["caption: Fine\n    open: nowhere", /nowhere is unknown/],
  ["caption: Fine\n    open: endpoints/Reciever", /Did you mean Receiver/],
])("a file with %s is refused with a sentence", async (scene, sentence) => {
  await withApp(async (app) => {
    const { status, body } = await app.api.call("stories.open", { text: story(scene) });
    expect(status).toBe(400);
    expect((body as { message: string }).message).toMatch(sentence);
  });
});

test("the list of open stories stays below 1 MB", async () => {
  await withApp(async (app) => {
    const { call } = own(app);
    const long = "so it is, and so it stays, ".repeat(6000);
    const scene = (caption: string): string => `  - advance: 1s\n    caption: ${caption}\n`;
    const text = story("caption: Fine") + scene(long) + scene("The end");
    for (let more = 0; more < 4; more += 1) {
      const { id } = await call("stories.open", { text });
      const { scenes } = await call("stories.go", { id, to: 3 });
      expect(scenes).toMatchObject([
        { state: "failed", caption: [{ text: "Fine" }] },
        {
          state: "passed",
          caption: null,
          problems: ["The texts of this scene are too long to show."],
        },
        { state: "passed", caption: [{ text: "The end" }] },
      ]);
    }
    expect(JSON.stringify(await call("stories.list", {})).length).toBeLessThan(1_000_000);
    const highlight = "h".repeat(120_000);
    expect(
      await app.api.call("stories.open", {
        text: story(`caption: Fine\n    highlight: ${highlight}`),
      }),
    ).toMatchObject({
      status: 400,
      body: { message: expect.stringMatching(/^The name, .* the limit is 110000\.$/) as string },
    });
  });
});

test("a story whose page has gone makes room for another one, and one whose page is back does not", async () => {
  await withApp(async (app) => {
    const { call } = own(app);
    const text = story("caption: Fine");
    const ids: string[] = [];
    for (let more = 0; more < 4; more += 1) ids.push((await call("stories.open", { text })).id);
    const [first = "", second = ""] = ids;
    const page = (id: string) => app.api.beside(id)?.changes.subscribe(() => undefined);
    page(first)?.();
    page(first);
    page(second)?.();
    const { id } = await call("stories.open", { text });
    const open = (await call("stories.list", {})).items.map((each) => each.id);
    expect(open).toEqual([...ids.filter((each) => each !== second), id]);
    expect(await app.api.call("stories.open", { text })).toMatchObject({ status: 409 });
  });
});

test.each([
  ["at once", story("caption: Fine")],
  ["while it waits", "name: A\nsteps:\n  - wait: 1m\n  - caption: Fine\n    advance: 1s\n"],
])("a story is closed when its page goes away before it is open, %s", async (when, text) => {
  await withApp(async (app) => {
    const { call } = own(app);
    const page = new AbortController();
    const opening = app.api.call("stories.open", { text }, page.signal);
    if (when !== "at once")
      await expect.poll(async () => (await call("stories.list", {})).items).toHaveLength(1);
    page.abort();
    await opening;
    expect((await call("stories.list", {})).items).toEqual([]);
  });
});

test("a story ends when its page does not come back in time", async () => {
  const waits: { ms: number; run: () => void; isCancelled: boolean }[] = [];
  const ended: unknown[] = [];
  const opened = createStories({
    ready: async () => story("caption: Fine"),
    async start({ startAt }) {
      const app = await startInMemory({ startAt, version: "0.0.0" });
      const stop = async () => void (await app.stop(), ended.push(app));
      return { ...typedCalls(app.api.call), served: app.api, ports: null, stop };
    },
    createStage: createSwitchedApi,
    later(ms, run) {
      const wait = { ms, run, isCancelled: false };
      waits.push(wait);
      return () => void (wait.isCancelled = true);
    },
    report: (error) => {
      throw error;
    },
  });
  const answer = await opened.handlers["stories.open"]({ file: "any.yaml" });
  if (isProblem(answer)) throw new Error(answer.message);
  const { id } = answer;
  const page = () => opened.served(id)?.changes.subscribe(() => undefined);
  page()?.();
  const reloaded = page();
  expect(waits).toMatchObject([{ ms: 30_000, isCancelled: true }]);
  reloaded?.();
  waits[1]?.run();
  await expect.poll(() => ended.length).toBe(1);
  expect(opened.served(id)).toBeUndefined();
  await opened.stop();
});

test("a story that waits in real time can be closed", async () => {
  await withApp(async (app) => {
    const { call } = own(app);
    const { id } = await call("stories.open", {
      text: "name: A\nsteps:\n  - caption: Fine\n    wait: 1m\n",
    });
    const set = vi.spyOn(globalThis, "setTimeout");
    const cancelled = vi.spyOn(globalThis, "clearTimeout");
    onTestFinished(() => void vi.restoreAllMocks());
    const place = (): number => set.mock.calls.findIndex(([, ms]) => ms === 60_000);
    const going = app.api.call("stories.go", { id, to: 1 });
    await expect.poll(place).toBeGreaterThanOrEqual(0);
    await call("stories.close", { id });
    expect(await going).toMatchObject({ status: 404 });
    expect(cancelled).toHaveBeenCalledWith(set.mock.results[place()]?.value);
  });
});

test("a step back and the end close the connections of request steps", async () => {
  const receiver = createServer((_, response) => void response.end());
  receiver.keepAliveTimeout = 0;
  await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => (receiver.closeAllConnections(), void receiver.close()));
  const { port } = receiver.address() as AddressInfo;
  const connections = () =>
    new Promise((resolve) => receiver.getConnections((_, count) => resolve(count)));
  await withApp(async (app) => {
    const { call } = own(app);
    const { id } = await call("stories.open", {
      text: `name: A\nsteps:\n  - caption: Fine\n    request: { url: http://127.0.0.1:${port}/, connection: kept }\n`,
    });
    await call("stories.go", { id, to: 1 });
    expect(await connections()).toBe(1);
    await call("stories.go", { id, to: 0 });
    await expect.poll(connections).toBe(0);
    await call("stories.go", { id, to: 1 });
    expect(await connections()).toBe(1);
    await call("stories.close", { id });
    await expect.poll(connections).toBe(0);
  });
});

test("stories that cannot begin leave room for others", async () => {
  const ended: unknown[] = [];
  const opened = createStories({
    ready: async () => null,
    async start({ startAt }) {
      const app = await startInMemory({ startAt, version: "0.0.0" });
      const stop = async () => void (await app.stop(), ended.push(app));
      return {
        call: () => Promise.reject(new Error("broken")),
        served: app.api,
        ports: null,
        stop,
      };
    },
    createStage: createSwitchedApi,
    later: () => () => undefined,
    report: (error) => {
      throw error;
    },
  });
  for (let one = 1; one <= 5; one += 1) {
    const opening = opened.handlers["stories.open"]({ text: story("caption: Fine") });
    await expect(opening).rejects.toThrow("broken");
    expect(ended).toHaveLength(one);
  }
});

test("calls that wait for a step back are answered when it fails, and the next step begins the story again", async () => {
  let starts = 0;
  const waiting: Promise<unknown>[] = [];
  const wait = (id: string) => waiting.push(opened.served(id)!.call("about.get", {}));
  const opened = createStories({
    ready: async () => story("caption: Fine"),
    async start({ startAt }) {
      starts += 1;
      if (starts === 2) {
        wait("story_000000001");
        throw new PortTaken({ port: 4321, role: "ingest" });
      }
      const app = await startInMemory({ startAt, version: "0.0.0" });
      return { ...typedCalls(app.api.call), served: app.api, ports: null, stop: app.stop };
    },
    createStage: createSwitchedApi,
    later: () => () => undefined,
    report: (error) => {
      throw error;
    },
  });
  onTestFinished(() => opened.stop());
  const answer = await opened.handlers["stories.open"]({ file: "any.yaml" });
  if (isProblem(answer)) throw new Error(answer.message);
  const { id } = answer;
  const go = async (to: number) => opened.handlers["stories.go"]({ id, to, again: to === 0 });
  const message = expect.stringContaining("Port 4321 is in use by another program.") as string;
  expect(await go(0)).toMatchObject({ status: 503, code: "story_stopped", message });
  expect(await waiting[0]).toMatchObject({ status: 503, body: { code: "story_stopped", message } });
  expect(await go(1)).toMatchObject({ at: 1, run: 2 });
  wait(id);
  expect(await waiting[1]).toMatchObject({ status: 200 });
});

test("what has no captions, an unknown file, a fifth story and a scene beyond the last are refused", async () => {
  await withApp(async (app) => {
    const { call } = own(app);
    const plain = story("name: Nothing to say");
    expect(await app.api.call("stories.open", { text: plain })).toMatchObject({ status: 400 });
    expect(await app.api.call("stories.open", { file: "no.yaml" })).toMatchObject({ status: 404 });
    const text = story("caption: Fine");
    const { id } = await call("stories.open", { text });
    expect(await app.api.call("stories.go", { id, to: 2 })).toMatchObject({ status: 400 });
    for (let more = 0; more < 3; more += 1) await call("stories.open", { text });
    expect(await app.api.call("stories.open", { text })).toMatchObject({
      status: 409,
      body: { code: "too_many_stories" },
    });
  });
});

test("a pipeline in memory that finds a port taken leaves none of its others open", async () => {
  const other = createServer().listen(0, "127.0.0.1");
  onTestFinished(() => void other.close());
  await once(other, "listening");
  const { port: endpoints } = other.address() as AddressInfo;
  const ingest = await lastingPort();
  const ports = { ingest, endpoints, endpointsTls: 0 };
  await expect(startInMemory({ startAt: 0, ports, version: "0.0.0" })).rejects.toThrow(PortTaken);
  const again = createServer().listen(ingest, "127.0.0.1");
  onTestFinished(() => void again.close());
  await once(again, "listening");
});
