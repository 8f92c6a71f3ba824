import { afterAll, expect, test, vi } from "vitest";
import type { StoryAnswer } from "../../contract/stories.ts";
import { useToast } from "../kit/copy.tsx";
import { CallError, noConnection } from "../transport/call-error.ts";
import { setTransport } from "../transport/transport.ts";

const kept = new Map<string, string>();
vi.stubGlobal(
  "window",
  Object.assign(new EventTarget(), {
    location: { hash: "" },
    setTimeout: () => 0,
    clearTimeout: () => undefined,
    requestAnimationFrame: () => 0,
    sessionStorage: {
      getItem: (name: string) => kept.get(name) ?? null,
      removeItem: (name: string) => void kept.delete(name),
    },
  }),
);
const { useStory } = await import("./story.ts");
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

test.each([
  ["has ended is given up", gone("story_1"), 0],
  ["cannot be asked for, as while the page is reloaded again, is kept", noConnection(), 1],
])("a story that %s", async (_, refusal, left) => {
  kept.set("hookyard.story", JSON.stringify({ id: "story_1", from: {}, wasPresenting: false }));
  setTransport({ call: () => Promise.reject(refusal), watch: () => () => undefined });
  await useStory.getState().resume();
  expect(kept.size).toBe(left);
});
