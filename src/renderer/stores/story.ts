/**
 * The story that plays. While it does, the page shows the story's own pipeline; the user's stays as
 * it is, and is shown again afterwards with the place, the mode and the drafts that it had. A page
 * that is reloaded goes on with its story.
 */

import { create } from "zustand";
import type { StoryAnswer } from "../../contract/stories.ts";
import { orToast, useToast } from "../kit/copy.tsx";
import { errorOf } from "../kit/use-action.ts";
import { call, showPipeline, whenAnswered } from "../transport/transport.ts";
import { setDraftsAside } from "./drafts.ts";
import { holdReads, whenFresh } from "./live-data.ts";
import { usePlace, type View } from "./place.ts";
import { usePresenter } from "./presenter.ts";
import { CallError, isNoConnection } from "../transport/call-error.ts";
import { readKept, writeKept } from "../kit/kept.ts";

/** At speed 1 a scene stays until its caption was read aloud and its picture looked at. */
const leastSceneMs = 9000;
const perLetterMs = 90;

const key = "hookyard.story";

/** For a reload: the story, and where to go afterwards. */
type Kept = {
  id: string;
  from: Pick<ReturnType<typeof usePlace.getState>, "view" | "path" | "query">;
  wasPresenting: boolean;
};

function keptStory(): Kept | null {
  try {
    return JSON.parse(readKept(key, "sessionStorage") ?? "null") as Kept | null;
  } catch {
    return null;
  }
}

export const fiveMinutes = "story-demo.yaml";

type StoryStore = {
  story: StoryAnswer | null;
  isOpening: boolean;
  isMoving: boolean;
  /** The views show everything that the scene has made. */
  isShown: boolean;
  isPlaying: boolean;
  speed: number;
  open(what: { file: string } | { text: string; file: string }): Promise<void>;
  cancelOpening(): void;
  /** Takes the story up again that this tab showed before it was reloaded. */
  resume(): Promise<void>;
  /** Plays to a scene; 0 is the start. */
  go(to: number): void;
  restart(): void;
  play(on: boolean): void;
  setSpeed(speed: number): void;
  close(): void;
};

/** How long the words of the scene on the screen take. */
function readingMs({ at, scenes, description }: StoryAnswer): number {
  const scene = scenes[at - 1];
  const letters = [...(scene?.caption ?? []), ...(scene?.why ?? [])].reduce(
    (sum, { text }) => sum + text.length,
    at === 0 ? (description ?? "").length : 0,
  );
  return leastSceneMs + perLetterMs * letters;
}

export const useStory = create<StoryStore>()((set, get) => {
  let comeBack = (): void => undefined;
  let release = (): void => undefined;
  let timer: number | null = null;
  /** Counts up when one begins to open, and when that is cancelled. */
  let openings = 0;

  function rest(): void {
    if (timer !== null) window.clearTimeout(timer);
    timer = null;
  }

  function planNext(): void {
    rest();
    const { story, isPlaying, speed } = get();
    if (!isPlaying || story === null) return;
    if (story.at === story.scenes.length) return set({ isPlaying: false });
    timer = window.setTimeout(() => get().go(story.at + 1), readingMs(story) / speed);
  }

  function show(story: StoryAnswer): void {
    set({ story, isShown: false });
    const place = story.scenes[story.at - 1]?.place ?? null;
    if (place !== null) usePlace.getState().go({ view: place.view as View, path: place.path });
    void whenFresh().then(() => {
      if (get().story === story) set({ isShown: true });
    });
    planNext();
  }

  async function move(to: number, again: boolean): Promise<void> {
    const { story, isMoving } = get();
    if (story === null || isMoving || to < 0 || to > story.scenes.length) return;
    rest();
    set({ isMoving: true });
    const isBack = again || to < story.at;
    if (isBack) release = holdReads();
    try {
      if (isBack) await whenAnswered();
      const moved = await call("stories.go", { id: story.id, to, again });
      if (get().story?.id === moved.id) show(moved);
    } catch (error) {
      if (get().story?.id !== story.id) return;
      set({ isPlaying: false });
      if (error instanceof CallError && error.status === 404) leave();
      useToast.getState().showError(errorOf(error).message);
    } finally {
      set({ isMoving: false });
      release();
    }
  }

  const forget = (): void => void writeKept(key, null, "sessionStorage");

  /** Shows the page's own pipeline again, and rejects, when the secrets cannot be read. */
  async function enter(story: StoryAnswer, { from, wasPresenting }: Omit<Kept, "id">) {
    const drafts = setDraftsAside();
    comeBack = () => {
      comeBack = () => undefined;
      showPipeline(null);
      useToast.getState().hide();
      drafts();
      void orToast(() => usePresenter.getState().set(wasPresenting));
      usePlace.getState().go(from);
    };
    const kept: Kept = { id: story.id, from, wasPresenting };
    writeKept(key, JSON.stringify(kept), "sessionStorage");
    showPipeline(story.id);
    // Its Undo is of the other pipeline.
    useToast.getState().hide();
    try {
      await usePresenter.getState().set(true);
    } catch (error) {
      comeBack();
      throw error;
    }
    set({ isPlaying: false, speed: 1 });
    show(story);
  }

  function leave(): void {
    rest();
    set({ story: null, isPlaying: false });
    forget();
    comeBack();
    release();
  }

  const end = ({ id }: Pick<StoryAnswer, "id">): void =>
    void whenAnswered()
      .then(() => call("stories.close", { id }))
      .catch(() => undefined);

  return {
    story: null,
    isOpening: false,
    isMoving: false,
    isShown: false,
    isPlaying: false,
    speed: 1,
    async open(what) {
      get().close();
      const { view, path, query } = usePlace.getState();
      const wasPresenting = usePresenter.getState().isOn;
      openings += 1;
      const opening = openings;
      set({ isOpening: true });
      try {
        const story = await call("stories.open", what);
        if (opening !== openings) return end(story);
        await enter(story, { from: { view, path, query }, wasPresenting }).catch((error) => {
          forget();
          end(story);
          throw error;
        });
      } catch (error) {
        if (opening === openings) throw error;
      } finally {
        if (opening === openings) set({ isOpening: false });
      }
    },
    cancelOpening() {
      openings += 1;
      set({ isOpening: false });
    },
    async resume() {
      const kept = keptStory();
      if (kept === null) return;
      try {
        await enter(await call("stories.get", { id: kept.id }), kept);
      } catch (error) {
        const refusal = errorOf(error);
        // A reload may have ended the requests: the next page goes on with the story.
        if (isNoConnection(refusal)) return;
        forget();
        // It has ended, or Hookyard was started again.
        if (refusal instanceof CallError && refusal.status === 404) return;
        end(kept);
        useToast.getState().showError(refusal.message);
      }
    },
    go: (to) => void move(to, false),
    restart: () => void move(0, true),
    play(on) {
      set({ isPlaying: on });
      planNext();
    },
    setSpeed(speed) {
      set({ speed });
      planNext();
    },
    close() {
      const { story } = get();
      if (story === null) return;
      leave();
      end(story);
    },
  };
});

export async function openStory(
  what: { file: string } | { text: string; file: string },
): Promise<void> {
  await orToast(() => useStory.getState().open(what));
}
