/**
 * The inspector in a real Chromium, as a benchmark or the soak looks at it: how long its frames
 * took, how many rows it held, what memory it takes, what it said on its console. The scripts are
 * text, because they run in the page.
 */

import type { Browser, CDPSession, Page } from "playwright-core";
import type { Program } from "./children.ts";

/**
 * Milliseconds between frames, the most rows of the list in the DOM at any of them, and how often
 * the top row was another one.
 */
export type Frames = { times: number[]; mostRows: number; moves: number };

type PageMemory = { heapBytes: number; nodes: number; listeners: number };

export type InspectorPage = {
  page: Page;
  /** Errors and warnings of the console, and exceptions. */
  problems: string[];
  /** Rows of the list that fit on the screen, in whole or in part. */
  rowsInView(): Promise<number>;
  /** After a collection of garbage. */
  memory(): Promise<PageMemory>;
  /** Milliseconds of processor time that the page's main thread has taken since it was opened. */
  busyMs(): Promise<number>;
};

const screen = { width: 1440, height: 900 };

export async function openInspector(
  browser: Browser,
  { uiUrl, token }: Pick<Program, "uiUrl" | "token">,
): Promise<InspectorPage> {
  const page = await browser.newPage({ viewport: screen });
  const problems: string[] = [];
  page.on("console", (line) => {
    if (line.type() === "error" || line.type() === "warning")
      problems.push(`${line.type()}: ${line.text()}`);
  });
  page.on("pageerror", (error) => problems.push(`exception: ${error.stack ?? error.message}`));
  await page.goto(`${uiUrl}/#token=${token}`);
  await page.locator("[role=row][aria-selected]").first().waitFor({ timeout: 30_000 });
  const session = await page.context().newCDPSession(page);
  await session.send("Performance.enable", { timeDomain: "threadTicks" });
  return {
    page,
    problems,
    rowsInView: () =>
      page.evaluate<number>(
        `Math.ceil((document.querySelector(".list-body")?.clientHeight ?? 0) / 28) + 1`,
      ),
    memory: () => memoryOf(session),
    busyMs: async () => (await metricOf(session, "TaskDuration")) * 1000,
  };
}

async function memoryOf(session: CDPSession): Promise<PageMemory> {
  await session.send("HeapProfiler.collectGarbage");
  const heapBytes = await metricOf(session, "JSHeapUsedSize");
  const { nodes, jsEventListeners } = await session.send("Memory.getDOMCounters");
  return { heapBytes, nodes, listeners: jsEventListeners };
}

async function metricOf(session: CDPSession, wanted: string): Promise<number> {
  const { metrics } = await session.send("Performance.getMetrics");
  return metrics.find(({ name }) => name === wanted)?.value ?? Number.NaN;
}

/** A page with nothing in it, in a browser of its own: what the machine itself does to frames. */
export async function openIdle(browser: Browser): Promise<Page> {
  return browser.newPage({ viewport: screen });
}

type TraceEvent = {
  name: string;
  pid: number;
  tid: number;
  tdur?: number;
  args: { name?: string };
};

/**
 * Milliseconds of processor time of the longest task that the page's main thread ran meanwhile:
 * other programs do not show in it.
 */
export async function longestTaskDuring(
  { page }: InspectorPage,
  happen: () => Promise<void>,
): Promise<number> {
  const browser = page.context().browser();
  if (browser === null) throw new Error("the page has no browser");
  await browser.startTracing(page, { categories: ["disabled-by-default-devtools.timeline"] });
  await happen();
  const { traceEvents } = JSON.parse((await browser.stopTracing()).toString()) as {
    traceEvents: TraceEvent[];
  };
  const thread = ({ pid, tid }: TraceEvent): string => `${pid} ${tid}`;
  const mains = new Set(
    traceEvents
      .filter(({ name, args }) => name === "thread_name" && args.name === "CrRendererMain")
      .map(thread),
  );
  const tasks = traceEvents.filter((event) => event.name === "RunTask" && mains.has(thread(event)));
  if (tasks.length === 0) throw new Error("no tasks were traced");
  return tasks.reduce((longest, { tdur = 0 }) => Math.max(longest, tdur / 1000), 0);
}

export async function startFrames(page: Page): Promise<void> {
  await page.evaluate(`(() => {
    const times = [];
    const frames = { times, mostRows: 0, moves: 0, going: true };
    let last = null;
    let top = null;
    const look = () => {
      const now = performance.now();
      if (last !== null) times.push(now - last);
      last = now;
      const rows = document.querySelector(".live .row-list");
      frames.mostRows = Math.max(frames.mostRows, rows?.childElementCount ?? 0);
      const id = rows?.firstElementChild?.id ?? null;
      if (id !== top) frames.moves += 1;
      top = id;
      if (frames.going) requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
    window.watchedFrames = frames;
  })()`);
}

export async function endFrames(page: Page): Promise<Frames> {
  return page.evaluate<Frames>(`(() => {
    const { times, mostRows, moves } = window.watchedFrames;
    window.watchedFrames.going = false;
    return { times: times.map((ms) => Math.round(ms * 100) / 100), mostRows, moves };
  })()`);
}

/**
 * As a hand on the scrollbar does it: another place at each frame, from one share of the list's
 * height to another.
 */
export async function dragScrollbar(
  page: Page,
  { from, to, ms }: { from: number; to: number; ms: number },
): Promise<void> {
  await page.evaluate(`new Promise((resolve) => {
    const list = document.querySelector(".list-body");
    const startedAt = performance.now();
    const move = () => {
      const share = Math.min(1, (performance.now() - startedAt) / ${ms});
      list.scrollTop = (${from} + (${to} - ${from}) * share) * (list.scrollHeight - list.clientHeight);
      if (share < 1) requestAnimationFrame(move);
      else resolve();
    };
    requestAnimationFrame(move);
  })`);
}

/** As a hand on the wheel does it, at about thirty notches a second. */
export async function turnWheel(page: Page, { by, ms }: { by: number; ms: number }): Promise<void> {
  await page.mouse.move(screen.width / 2, screen.height / 2);
  const endsAt = performance.now() + ms;
  while (performance.now() < endsAt) {
    await page.mouse.wheel(0, by);
    await new Promise((resolve) => setTimeout(resolve, 33));
  }
}
