import { afterAll, expect, test, vi } from "vitest";
import type { StoryAnswer } from "../../contract/stories.ts";
import { useToast } from "../kit/copy.tsx";
import { CallError, noConnection } from "../transport/call-error.ts";
import {
  call,
  pipelineFor,
  setTransport,
  type Transport,
  whenAnswered,
} from "../transport/transport.ts";

const kept = new Map<string, string>();
const delays: number[] = [];
vi.stubGlobal(
  "window",
  Object.assign(new EventTarget(), {
    location: { hash: "" },
    history: { pushState: () => undefined },
    setTimeout: (_: unknown, ms: number) => delays.push(ms),
    clearTimeout: () => undefined,
    requestAnimationFrame: () => 0,
    sessionStorage: {
      getItem: (name: string) => kept.get(name) ?? null,
      setItem: (name: string, text: string) => void kept.set(name, text),
      removeItem: (name: string) => void kept.delete(name),
    },
  }),
);
const shown: Record<string, string> = {};
vi.stubGlobal("document", { documentElement: { dataset: shown } });
const { openStory, useStory } = await import("./story.ts");
const { usePlace } = await import("./place.ts");
const { usePresenter } = await import("./presenter.ts");
afterAll(() => vi.unstubAllGlobals());

const storyOf = (id: string): StoryAnswer => ({
  id,
  file: null,
  name: "A story",
  description: null,
  at: 0,
  run: 1,
  scenes: [
    { caption: null, why: null, place: null, highlight: null, state: "waiting", problems: [] },
  ],
});
const gone = (id: string) =>
  new CallError({ status: 404, code: "not_found", message: `There is no story ${id}.` });

test.each([
  ["says so and ends", storyOf("story_1"), null, "There is no story story_1."],
  ["says nothing once it was left", null, null, null],
  ["leaves the next story alone", storyOf("story_2"), storyOf("story_2"), null],
])("a move whose story is no longer there %s", async (_, shown, after, said) => {
  useToast.getState().hide();
  const going = Promise.withResolvers<never>();
  setTransport({ call: () => going.promise, watch: () => () => undefined });
  useStory.setState({ story: storyOf("story_1") });
  useStory.getState().go(1);
  useStory.setState({ story: shown });
  going.reject(gone("story_1"));
  await vi.waitFor(() => expect(useStory.getState().isMoving).toBe(false));
  expect(useStory.getState().story).toEqual(after);
  expect(useToast.getState().text).toBe(said);
});

test("the next scene comes once the words are read, sooner at a higher speed, and none after the last", () => {
  useStory.setState({ story: { ...storyOf("story_1"), description: "a".repeat(100) }, speed: 1 });
  useStory.getState().play(true);
  useStory.getState().setSpeed(9);
  expect(delays.slice(-2)).toEqual([18_000, 2000]);
  useStory.setState({ story: { ...storyOf("story_1"), at: 1 } });
  useStory.getState().setSpeed(2);
  expect(delays.at(-1)).toBe(2000);
  expect(useStory.getState().isPlaying).toBe(false);
});

const refused = new CallError({
  status: 503,
  code: "unavailable",
  message: "The data file is gone.",
});

/** Calls without an answer here are refused. */
function answering(answers: Record<string, () => unknown>): string[] {
  const calls: string[] = [];
  const answer = async (name: string): Promise<unknown> => {
    calls.push(name);
    const answerOf = answers[name];
    if (answerOf === undefined) throw refused;
    return answerOf();
  };
  setTransport({ call: answer as Transport["call"], watch: () => () => undefined });
  return calls;
}

const aToken = async (): Promise<unknown> => call("settings.get", {});
const lists = { "sources.list": () => ({ items: [] }), "unknownKeys.list": () => ({ items: [] }) };

test("presenter mode that cannot be entered says why, and hides nothing", async () => {
  useToast.getState().hide();
  const settings = { token: "t0ken-of-eve" };
  answering({ "settings.get": () => settings });
  usePresenter.getState().toggle();
  await expect.poll(() => useToast.getState().text).toBe(refused.message);
  expect(usePresenter.getState().isOn).toBe(false);
  expect(await aToken()).toEqual(settings);

  answering({ ...lists, "settings.get": () => settings });
  usePresenter.getState().toggle();
  await expect.poll(() => usePresenter.getState().isOn).toBe(true);
  expect(await aToken()).not.toEqual(settings);

  // What is hidden stays hidden.
  answering({ "settings.get": () => settings });
  await expect(usePresenter.getState().set(true)).rejects.toThrow(refused.message);
  expect(await aToken()).not.toEqual(settings);
  usePresenter.getState().toggle();
  expect(usePresenter.getState().isOn).toBe(false);
});

test("a second press leaves presenter mode before it is entered", async () => {
  const listed = Promise.withResolvers<{ items: never[] }>();
  answering({
    ...lists,
    "sources.list": () => listed.promise,
    "settings.get": () => ({ token: "t0ken-of-eve" }),
  });
  const entering = usePresenter.getState().set(true);
  usePresenter.getState().toggle();
  listed.resolve({ items: [] });
  await entering;
  expect(usePresenter.getState().isOn).toBe(false);
  expect(shown).toEqual({});
  expect(await aToken()).toEqual({ token: "t0ken-of-eve" });
});

test("a story whose secrets cannot be read ends, and the page shows its own pipeline again", async () => {
  useToast.getState().hide();
  useStory.setState({ story: null });
  usePlace.getState().go({ view: "retries" });
  const calls = answering({
    "stories.open": () => storyOf("story_1"),
    "stories.close": () => ({}),
  });
  await openStory({ file: "story-demo.yaml" });
  expect(useToast.getState().text).toBe(refused.message);
  expect(useStory.getState()).toMatchObject({ story: null, isOpening: false });
  expect(pipelineFor("events")).toBeNull();
  expect(usePlace.getState().view).toBe("retries");
  await expect.poll(() => calls).toContain("stories.close");
});

test.each([
  ["has ended is given up", gone("story_1"), 0],
  ["cannot be asked for, as while the page is reloaded again, is kept", noConnection(), 1],
])("a story that %s", async (_, refusal, left) => {
  kept.set("hookyard.story", JSON.stringify({ id: "story_1", from: {}, wasPresenting: false }));
  setTransport({ call: () => Promise.reject(refusal), watch: () => () => undefined });
  await useStory.getState().resume();
  expect(kept.size).toBe(left);
});

test.each([
  ["is kept, as while the page is reloaded again", noConnection(), 1, null],
  ["ends and says why", refused, 0, refused.message],
])("a story that goes on but whose secrets cannot be read %s", async (_, refusal, left, said) => {
  useToast.getState().hide();
  kept.set("hookyard.story", JSON.stringify({ id: "story_1", from: {}, wasPresenting: false }));
  const calls = answering({
    "stories.get": () => storyOf("story_1"),
    "sources.list": () => Promise.reject(refusal),
    "unknownKeys.list": () => Promise.reject(refusal),
    "stories.close": () => ({}),
  });
  await useStory.getState().resume();
  await whenAnswered();
  expect(kept.size).toBe(left);
  expect(calls.includes("stories.close")).toBe(left === 0);
  expect(useToast.getState().text).toBe(said);
  expect(useStory.getState().story).toBeNull();
  expect(pipelineFor("events")).toBeNull();
});
