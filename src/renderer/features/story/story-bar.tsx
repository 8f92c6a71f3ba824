/**
 * The bar of a story: where it is, what happens and why, and the keys that play it. Its keys work
 * wherever the focus is, but in a field, a menu or a dialog.
 */

import { useEffect } from "react";
import type { CaptionAnswer, SceneAnswer, StoryAnswer } from "../../../contract/stories.ts";
import { Button, Choice } from "../../kit/controls.tsx";
import { Icon } from "../../kit/icon.tsx";
import { takesText } from "../../stores/keys.ts";
import { useStory } from "../../stores/story.ts";
import { useHighlight } from "./highlight.ts";
import "./story.css";

const speeds = [1, 2, 5, 9].map((speed) => ({ value: String(speed), label: `×${speed}` }));

export function StoryBar({ story }: { story: StoryAnswer }) {
  const { isMoving, isShown, isPlaying, speed, go, play, setSpeed } = useStory();
  const scene = story.scenes[story.at - 1] ?? null;
  const isEnd = story.at === story.scenes.length;
  useHighlight(scene?.highlight ?? null, `${story.id} ${story.run} ${story.at}`);
  return (
    <footer className="story" role="region" aria-label="Story" aria-busy={isMoving || !isShown}>
      <div>
        <p className="story-place">
          <b>{story.at}</b> of {story.scenes.length}
        </p>
        <Track story={story} />
        <p className="story-name clip">{titleOf(story)}</p>
      </div>
      <div aria-live="polite" className="story-words">
        {scene === null ? (
          <>
            <h1>{titleOf(story)}</h1>
            <p>
              <b>→</b> plays the first scene, <b>Space</b> all of them.
            </p>
          </>
        ) : (
          <Words scene={scene} />
        )}
      </div>
      <div className="story-play">
        <div className="story-buttons">
          <Button
            disabled={story.at === 0}
            aria-label="Back"
            aria-keyshortcuts="ArrowLeft"
            onClick={() => go(story.at - 1)}
          >
            <Icon name="back" />
            <kbd aria-hidden="true">←</kbd>
          </Button>
          <Button disabled={isEnd} aria-keyshortcuts="Space" onClick={() => play(!isPlaying)}>
            <Icon name={isPlaying ? "pause" : "advance"} />
            {isPlaying ? "Pause" : "Play"} <kbd aria-hidden="true">Space</kbd>
          </Button>
          <Button
            look="primary"
            disabled={isEnd}
            aria-keyshortcuts="ArrowRight"
            onClick={() => go(story.at + 1)}
          >
            Next <kbd aria-hidden="true">→</kbd>
          </Button>
        </div>
        <Choice
          label="Speed"
          value={String(speed)}
          options={speeds}
          onChange={(value) => setSpeed(Number(value))}
        />
      </div>
    </footer>
  );
}

/** Until a story is there: its pipeline takes a moment to start. */
export function StoryOpening() {
  const isOpening = useStory((playing) => playing.isOpening);
  useStoryKeys();
  return (
    <div role="status">
      {isOpening ? (
        <div className="toast">
          Opening the story …
          <Button small aria-keyshortcuts="Escape" onClick={useStory.getState().cancelOpening}>
            Cancel <kbd aria-hidden="true">Esc</kbd>
          </Button>
        </div>
      ) : null}
    </div>
  );
}

/** What is on the stage before the first scene. */
export function StoryTitle() {
  const story = useStory((playing) => playing.story);
  if (story === null) return null;
  return (
    <section className="story-title" aria-label="Before the first scene">
      <h2>{titleOf(story)}</h2>
      <p>{story.description}</p>
      <p className="muted">
        It plays in a pipeline of its own. Your own data stays as it is, and Esc returns to it.
      </p>
    </section>
  );
}

const titleOf = ({ name }: StoryAnswer): string =>
  name.replace(/^Story: /, "").replace(/^./, (first) => first.toUpperCase());

function Words({ scene: { caption, why, state, problems } }: { scene: SceneAnswer }) {
  if (state === "failed")
    return (
      <>
        <h1>An expectation of this scene failed.</h1>
        {problems.map((problem) => (
          <p key={problem} className="story-problem">
            {problem}
          </p>
        ))}
      </>
    );
  return (
    <>
      <h1>
        <Parts parts={caption} />
      </h1>
      <p>
        <Parts parts={why} />
      </p>
    </>
  );
}

function Parts({ parts }: { parts: CaptionAnswer | null }) {
  return (parts ?? []).map(({ text, value }, place) =>
    // oxlint-disable-next-line react/no-array-index-key -- the parts of a caption never move
    value ? <b key={place}>{text}</b> : text,
  );
}

/** A line with a station for each scene. */
function Track({ story: { at, scenes } }: { story: StoryAnswer }) {
  return (
    <ol className="story-track" aria-hidden="true">
      {scenes.map(({ state }, place) => (
        <li
          // oxlint-disable-next-line react/no-array-index-key -- scenes never move
          key={place}
          data-state={place === at - 1 ? "now" : state}
          data-failed={state === "failed" ? "" : undefined}
        />
      ))}
    </ol>
  );
}

/** Before everything else, so that no list and no tab takes a story's arrows. */
function useStoryKeys(): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (takesText(event.target) || event.ctrlKey || event.metaKey || event.altKey) return;
      const act = actionOf(event.key);
      if (act === null) return;
      event.preventDefault();
      event.stopPropagation();
      act();
    };
    window.addEventListener("keydown", onKey, { capture: true });
    return () => window.removeEventListener("keydown", onKey, { capture: true });
  }, []);
}

function actionOf(key: string): (() => void) | null {
  const { story, isOpening, isPlaying, go, restart, play, setSpeed, close, cancelOpening } =
    useStory.getState();
  if (isOpening && key === "Escape") return cancelOpening;
  if (story === null) return null;
  if (/^[1-9]$/.test(key)) return () => setSpeed(Number(key));
  switch (key) {
    case "ArrowRight":
      return () => go(story.at + 1);
    case "ArrowLeft":
      return () => go(story.at - 1);
    case " ":
      return () => play(!isPlaying);
    case "Home":
      return restart;
    case "Escape":
      return close;
    default:
      return null;
  }
}
