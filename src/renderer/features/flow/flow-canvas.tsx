/**
 * What moves on the map: a mark for each message, or the share of a line when there are too many.
 * One canvas under the names, and no frame is asked for when nothing moves: while the clock is
 * paused, while the window is hidden, and after the last mark.
 */

import { useEffect, useMemo, useRef } from "react";
import type { Outcome } from "../../../domain/states.ts";
import { useClock } from "../../stores/clock.ts";
import { useStory } from "../../stores/story.ts";
import type { FlowAnswer } from "./flow-model.ts";
import type { Drawing } from "./map-layout.ts";
import { type Mark, markSpeed, MovingMarks } from "./moving-marks.ts";
import { pathOf, wayOf } from "./route-path.ts";

/** Marks of a line that is in shares move this fast, in pixels a second. */
const shareSpeed = 60;
const dash = [3, 9];

/** How near the pointer must be to a mark to hold it. */
const reachPx = 12;

/** How a page reaches the marks. */
export type Marks = {
  markAt(x: number, y: number): string | null;
};

type Props = {
  drawing: Drawing;
  flow: FlowAnswer;
  /** The tracks that show a share. */
  sharing: readonly { track: string; width: number }[];
  /** The message that stands still. */
  held: string | null;
  /** Lines of the selected message. */
  lit: ReadonlySet<string>;
  /** Gets the way to the marks, and null when they go. */
  onMarks: (marks: Marks | null) => void;
};

export function FlowCanvas({ drawing, flow, sharing, held, lit, onMarks }: Props) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const clock = useClock();
  // A story's clock stands between its scenes, which is when their messages are seen.
  const isStory = useStory(({ story }) => story !== null);
  const isPaused = !isStory && clock?.mode === "paused" && clock.advance === null;
  const speed = markSpeed(clock?.mode ?? "real", clock?.speed ?? 1);
  const stage = useMemo(() => createStage(), []);
  const { width, height } = drawing;

  useEffect(() => {
    stage.marks.setWays(new Map([...drawing.routes].map(([key, points]) => [key, wayOf(points)])));
  }, [stage, drawing]);
  useEffect(() => {
    stage.setShares(
      sharing.map((share) => ({
        path: new Path2D(pathOf(drawing.tracks.get(share.track) ?? [])),
        width: Math.max(1.5, share.width - 2),
      })),
    );
  }, [stage, drawing, sharing]);
  useEffect(() => {
    stage.marks.add(flow, stage.now(), speed);
    stage.wake();
  }, [stage, flow, speed, drawing]);
  useEffect(() => {
    if (held === null) stage.marks.release();
    else stage.marks.hold(held, stage.now());
    stage.wake();
  }, [stage, held]);
  useEffect(() => stage.setLit(lit, held), [stage, lit, held]);
  useEffect(() => stage.setPaused(isPaused), [stage, isPaused]);
  useEffect(() => {
    const element = canvas.current;
    const context = element?.getContext("2d") ?? null;
    if (element === null || context === null) return undefined;
    const ratio = window.devicePixelRatio || 1;
    element.width = Math.round(width * ratio);
    element.height = Math.round(height * ratio);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    stage.start({ context, element, width, height });
    return () => stage.stop();
  }, [stage, width, height]);
  useEffect(() => {
    onMarks({ markAt: (x, y) => stage.markAt(x, y) });
    return () => onMarks(null);
  }, [stage, onMarks]);

  return (
    <canvas ref={canvas} className="flow-canvas" style={{ width, height }} aria-hidden="true" />
  );
}

type Surface = {
  context: CanvasRenderingContext2D;
  element: HTMLCanvasElement;
  width: number;
  height: number;
};

type Share = { path: Path2D; width: number };

/** Owns the loop: React sets what is to be drawn, and never runs for a frame. */
function createStage() {
  const marks = new MovingMarks();
  let surface: Surface | null = null;
  let colours: Colours | null = null;
  let shares: readonly Share[] = [];
  let lit: ReadonlySet<string> = new Set();
  let held: string | null = null;
  let isPaused = false;
  /** The animation's own time: it stands while the clock is paused. */
  let time = 0;
  let lastFrameAt: number | null = null;
  let frame: number | null = null;
  let drawn: readonly Mark[] = [];
  let hadMarks = false;

  const now = (): number =>
    lastFrameAt === null || isPaused ? time : time + (window.performance.now() - lastFrameAt);

  function draw(): void {
    frame = null;
    const at = window.performance.now();
    if (lastFrameAt !== null && !isPaused) time += at - lastFrameAt;
    lastFrameAt = isPaused ? null : at;
    if (surface === null) return;
    const { context, width, height, element } = surface;
    colours ??= coloursOf(element);
    context.clearRect(0, 0, width, height);
    context.setLineDash(dash);
    context.lineDashOffset = -((time * shareSpeed) / 1000) % 12;
    context.strokeStyle = colours.ground;
    for (const { path, width: lineWidth } of shares) {
      context.lineWidth = lineWidth;
      context.stroke(path);
    }
    context.setLineDash([]);
    drawn = marks.at(time);
    for (const mark of drawn) drawMark(context, mark, colours, { lit, held });
    hadMarks = !marks.isEmpty;
    if (!isPaused && (hadMarks || shares.length > 0)) schedule();
    else lastFrameAt = null;
  }

  function schedule(): void {
    if (frame !== null || surface === null || document.hidden) return;
    frame = window.requestAnimationFrame(draw);
  }

  function wake(): void {
    colours = null;
    if (lastFrameAt === null && !isPaused) lastFrameAt = window.performance.now();
    schedule();
  }

  return {
    marks,
    now,
    wake,
    setShares(next: readonly Share[]): void {
      shares = next;
      wake();
    },
    setLit(next: ReadonlySet<string>, heldId: string | null): void {
      lit = next;
      held = heldId;
      wake();
    },
    setPaused(paused: boolean): void {
      if (isPaused === paused) return;
      if (paused) time = now();
      isPaused = paused;
      lastFrameAt = paused ? null : window.performance.now();
      schedule();
    },
    start(next: Surface): void {
      surface = next;
      document.addEventListener("visibilitychange", wake);
      wake();
    },
    stop(): void {
      if (frame !== null) window.cancelAnimationFrame(frame);
      frame = null;
      surface = null;
      document.removeEventListener("visibilitychange", wake);
    },
    markAt(x: number, y: number): string | null {
      const near = drawn
        .map((mark) => ({ mark, far: Math.hypot(mark.x - x, mark.y - y) }))
        .filter(({ far }) => far <= reachPx)
        .toSorted((a, b) => a.far - b.far)[0];
      return near?.mark.messageId ?? null;
    },
  };
}

type Colours = { ground: string; mark: string; ink: string; waits: string; outcomes: Outcomes };
type Outcomes = Record<Outcome, string>;

/** The theme's, as the page has them now. */
function coloursOf(element: HTMLElement): Colours {
  const of = (token: string): string => {
    element.style.color = `var(${token})`;
    const { color } = window.getComputedStyle(element);
    element.style.color = "";
    return color;
  };
  return {
    ground: of("--bg"),
    mark: of("--text-2"),
    ink: of("--ink"),
    waits: of("--st-sending"),
    outcomes: {
      success: of("--o-success"),
      http_error: of("--o-http_error"),
      timeout: of("--o-timeout"),
      connection_error: of("--o-connection_error"),
      tls_error: of("--o-tls_error"),
    },
  };
}

function drawMark(
  context: CanvasRenderingContext2D,
  { x, y, angle, shows, messageId, line }: Mark,
  colours: Colours,
  { lit, held }: { lit: ReadonlySet<string>; held: string | null },
): void {
  context.save();
  context.translate(x, y);
  if (messageId === held) {
    context.beginPath();
    context.arc(0, 0, 10, 0, Math.PI * 2);
    context.strokeStyle = colours.ink;
    context.lineWidth = 2;
    context.stroke();
  }
  if (shows === "moves") {
    const isLit = lit.has(line);
    context.rotate(angle);
    context.beginPath();
    context.roundRect(-4.5, -2.5, 9, 5, 2.5);
    context.lineWidth = isLit ? 1.5 : 3;
    context.strokeStyle = isLit ? colours.ink : colours.ground;
    context.stroke();
    context.fillStyle = isLit ? colours.ground : colours.mark;
    context.fill();
  } else if (shows === "waits") drawHalfDisc(context, colours);
  else drawOutcome(context, shows, colours.outcomes[shows]);
  context.restore();
}

function drawHalfDisc(context: CanvasRenderingContext2D, { ground, waits }: Colours): void {
  context.beginPath();
  context.arc(0, 0, 4.5, 0, Math.PI * 2);
  context.fillStyle = ground;
  context.fill();
  context.strokeStyle = waits;
  context.lineWidth = 1.4;
  context.stroke();
  context.beginPath();
  context.arc(0, 0, 4.5, -Math.PI / 2, Math.PI / 2);
  context.fillStyle = waits;
  context.fill();
}

/** The shapes of the kit's glyphs. */
function drawOutcome(context: CanvasRenderingContext2D, outcome: Outcome, colour: string): void {
  context.fillStyle = colour;
  context.strokeStyle = colour;
  context.beginPath();
  switch (outcome) {
    case "success":
      context.arc(0, 0, 5, 0, Math.PI * 2);
      break;
    case "http_error":
      context.rect(-5, -5, 10, 10);
      break;
    case "timeout":
      context.rect(-5.5, -5, 11, 3.4);
      context.rect(-1.5, -2, 3, 7);
      break;
    case "tls_error":
      context.moveTo(0, -6);
      context.lineTo(6, 0);
      context.lineTo(0, 6);
      context.lineTo(-6, 0);
      break;
    case "connection_error":
      context.lineWidth = 2.6;
      context.moveTo(-4, -4);
      context.lineTo(4, 4);
      context.moveTo(4, -4);
      context.lineTo(-4, 4);
      context.stroke();
      return;
  }
  context.fill();
}
