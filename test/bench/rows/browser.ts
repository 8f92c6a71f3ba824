/**
 * The list in a real Chromium: a tail at 2,000 messages a second, and scrolling through 1,000,000.
 * The floor is an empty page in a browser of its own at the same time: what the machine does to the
 * frames of anybody.
 */

import type { Page } from "playwright-core";
import { launchBrowser } from "../../support/browser.ts";
import { startProgram, startScript, watchLoop, type Program } from "../children.ts";
import {
  dragScrollbar,
  endFrames,
  longestTaskDuring,
  openIdle,
  openInspector,
  startFrames,
  turnWheel,
  type Frames,
  type InspectorPage,
} from "../inspector-page.ts";
import type { LoopDelay } from "../loop-delay.ts";
import { percentile, type BenchOptions, type Figure, type Row } from "../measure.ts";
import type { Load, Sent } from "../sender.ts";
import { withDirectory } from "../temporary.ts";
import { copyStore, millionStore } from "./million.ts";

const writeKey = "bench";

/** Rows that the list may hold beyond those in view. */
const margin = 20;

/** `busy` is the share of one processor that the page's main thread took. */
type Run = { ours: Frames; idle: Frames; busy: number };
type Watched = { options: BenchOptions; program: Program; inspector: InspectorPage; idle: Page };

function withInspector<T>(
  options: BenchOptions,
  use: (watched: Watched) => Promise<T>,
): Promise<T> {
  return withDirectory(async (data) => {
    copyStore(millionStore(options), data);
    const program = await startProgram(data, { nodeFlags: watchLoop });
    const [browser, otherBrowser] = await Promise.all([launchBrowser(), launchBrowser()]);
    try {
      return await use({
        options,
        program,
        inspector: await openInspector(browser, program),
        idle: await openIdle(otherBrowser),
      });
    } finally {
      await Promise.all([browser.close(), otherBrowser.close()]);
      await program.stop();
    }
  });
}

/**
 * Several times with the frames watched, and once with the tasks of the page traced, which costs
 * frames.
 */
async function measure(
  watched: Watched,
  what: string,
  happen: (run: number) => Promise<void>,
): Promise<{ figures: Figure[]; runs: Run[] }> {
  const runs: Run[] = [];
  const times = watched.options.quick ? 1 : 3;
  for (let run = 0; run < times; run += 1) {
    runs.push(await framesDuring(watched, () => happen(run)));
    sayRun(watched, what, runs.at(-1));
  }
  const longestTask = await longestTaskDuring(watched.inspector, () => happen(times));
  if (watched.inspector.problems.length > 0) throw new Error(watched.inspector.problems.join("\n"));
  return { figures: await figuresOf(watched, what, runs, longestTask), runs };
}

async function framesDuring(
  { inspector, idle }: Watched,
  happen: () => Promise<void>,
): Promise<Run> {
  for (const page of [inspector.page, idle]) await startFrames(page);
  const startedAt = performance.now();
  const busyBefore = await inspector.busyMs();
  await happen();
  const busy = ((await inspector.busyMs()) - busyBefore) / (performance.now() - startedAt);
  return { ours: await endFrames(inspector.page), idle: await endFrames(idle), busy };
}

const short = ({ times, mostRows, moves }: Frames) => ({
  frames: times.length,
  p50: percentile(times, 0.5),
  p99: percentile(times, 0.99),
  p999: percentile(times, 0.999),
  max: Math.max(...times),
  mostRows,
  moves,
});

function sayRun({ options }: Watched, what: string, run: Run | undefined): void {
  if (run === undefined) return;
  const words = (frames: Frames): string => {
    const { p50, p99, p999, max } = short(frames);
    return `p50 ${p50.toFixed(1)}, p99 ${p99.toFixed(1)}, p99.9 ${p999.toFixed(1)}, longest ${max.toFixed(1)} ms`;
  };
  const { ours, idle, busy } = run;
  options.say(
    `${what}: ${words(ours)}, main thread ${Math.round(busy * 100)} % busy; an idle page meanwhile: ${words(idle)}`,
  );
}

async function figuresOf(
  { inspector }: Watched,
  what: string,
  runs: readonly Run[],
  longestTask: number,
): Promise<Figure[]> {
  const ours = runs.flatMap((run) => run.ours.times);
  const idle = runs.flatMap((run) => run.idle.times);
  const { heapBytes, nodes, listeners } = await inspector.memory();
  // Flow has no such list.
  const rowsInView = await inspector.rowsInView();
  return [
    {
      figure: `frame, ${what}: p99.9`,
      unit: "ms",
      value: percentile(ours, 0.999),
      floor: percentile(idle, 0.999),
      mustReach: { atMost: 33 },
      runs: runs.map((run) => ({ ours: short(run.ours), idle: short(run.idle), busy: run.busy })),
    },
    {
      figure: `frame, ${what}: longest`,
      unit: "ms",
      value: Math.max(...ours),
      floor: Math.max(...idle),
      mustReach: { atMost: 100 },
    },
    {
      figure: `longest task of the page, ${what}`,
      unit: "ms",
      value: longestTask,
      mustReach: { atMost: 50 },
    },
    {
      figure: `rows in the page, ${what}: most`,
      unit: "rows",
      value: Math.max(...runs.map((run) => run.ours.mostRows)),
      mustReach: { atMost: rowsInView + margin },
    },
    {
      figure: `script memory of the page, ${what}`,
      unit: "MB",
      value: heapBytes / 1e6,
      runs: { nodes, listeners },
    },
  ];
}

const secondsOf = ({ quick }: BenchOptions): number => (quick ? 8 : 20);

/** Batches of 100, all delivered, with Live open and following. */
export const browserTail: Row = {
  name: "browser-tail",
  run: (options) =>
    withInspector(options, async (watched) => {
      const { program } = watched;
      const receiver = startScript("receiver.ts");
      const idleLoop = startScript("idle.ts");
      const loops: { ours: LoopDelay; idle: LoopDelay }[] = [];
      const requests = secondsOf(options) * 20;
      const loopDelays = async (): Promise<{ ours: LoopDelay; idle: LoopDelay }> => {
        for (const watched of [program, idleLoop]) watched.send({});
        return {
          ours: await program.answer<LoopDelay>(),
          idle: await idleLoop.answer<LoopDelay>(),
        };
      };
      const tail = async (run: number): Promise<void> => {
        const load: Load = {
          url: program.ingestUrl,
          connections: 4,
          batch: 100,
          requests,
          writeKey,
          seed: 11 + run,
          everyMs: 50,
        };
        const sender = startScript("sender.ts", load);
        try {
          await sender.answer();
          await loopDelays();
          sender.send({});
          const { startedAt, endedAt } = await sender.answer<Sent>();
          options.say(
            `${Math.round((requests * load.batch * 1000) / (endedAt - startedAt))} messages/s came in`,
          );
          loops.push(await loopDelays());
        } finally {
          await sender.stop();
        }
      };
      try {
        await idleLoop.answer();
        const { url } = await receiver.answer<{ url: string }>();
        const { id } = await program.call<{ id: string }>("POST", "/api/sources", {
          name: "Bench",
          writeKey,
        });
        await program.call("POST", "/api/destinations", {
          name: "Bench",
          sourceIds: [id],
          webhooks: [{ url }],
          sharedSecret: "s",
        });
        const { figures, runs } = await measure(watched, "tail at 2,000 messages/s", tail);
        await checkFollowed(watched);
        return [
          ...figures,
          {
            figure: "times that the list moved, tail at 2,000 messages/s",
            unit: "a second",
            value: Math.min(...runs.map(({ ours }) => ours.moves)) / secondsOf(options),
            mustReach: { atLeast: 2 },
          },
          {
            figure: "block of the event loop with the inspector open, p99.9",
            unit: "ms",
            value: Math.max(...loops.map(({ ours }) => ours.p999)),
            floor: Math.max(...loops.map(({ idle }) => idle.p999)),
            runs: loops,
          },
        ];
      } finally {
        await receiver.stop();
        await idleLoop.stop();
      }
    }),
};

/**
 * A list that stands still would have the best frames of all: it moved, and shows the newest at the
 * end.
 */
async function checkFollowed({ program, inspector: { page } }: Watched): Promise<void> {
  const { messages } = await program.call<{ messages: { total: number } }>("GET", "/api/stats");
  await page
    .locator(
      `.list-body[aria-rowcount="${messages.total + 1}"] .row[aria-rowindex="2"][aria-selected]`,
    )
    .waitFor({ timeout: 5000 });
}

const flowSources = 10;
const flowDestinations = 20;

/**
 * Ten sources and twenty destinations, the load on two of them, with Flow open and drawn with
 * everything that moves.
 */
export const browserFlow: Row = {
  name: "browser-flow",
  run: (options) =>
    withInspector(options, async (watched) => {
      const { program, inspector } = watched;
      const { page } = inspector;
      const receiver = startScript("receiver.ts");
      const requests = secondsOf(options) * 10;
      try {
        const { url } = await receiver.answer<{ url: string }>();
        const sources: string[] = [];
        for (let each = 0; each < flowSources; each += 1) {
          const made = await program.call<{ id: string }>("POST", "/api/sources", {
            name: `Source ${each}`,
            writeKey: `${writeKey}${each}`,
          });
          sources.push(made.id);
        }
        for (let each = 0; each < flowDestinations; each += 1)
          await program.call("POST", "/api/destinations", {
            name: `Destination ${each}`,
            sourceIds: [sources[each % flowSources]],
            webhooks: [{ url }],
            enabled: each < flowSources,
          });
        await page.evaluate('location.hash = "#/flow"');
        await page.getByRole("button", { name: /^Destination 0: / }).waitFor({ timeout: 30_000 });
        const flow = async (run: number): Promise<void> => {
          const senders = [0, 1].map((each) =>
            startScript("sender.ts", {
              url: program.ingestUrl,
              connections: 2,
              batch: 100,
              requests,
              writeKey: `${writeKey}${each}`,
              seed: 31 + run * 2 + each,
              everyMs: 100,
            } satisfies Load),
          );
          try {
            for (const sender of senders) await sender.answer();
            for (const sender of senders) sender.send({});
            for (const sender of senders) await sender.answer<Sent>();
          } finally {
            for (const sender of senders) await sender.stop();
          }
        };
        const before = await moved(page);
        const { figures } = await measure(watched, "Flow at 2,000 messages/s", flow);
        if ((await moved(page)) === before) throw new Error("nothing moved on the map");
        return figures.filter(({ figure }) => !figure.startsWith("rows"));
      } finally {
        await receiver.stop();
      }
    }),
};

/** What the map says of the busiest source. */
const moved = (page: Page): Promise<string | null> =>
  page.getByRole("button", { name: /^Source 0: / }).textContent();

/**
 * From the top to the bottom and back, by the scrollbar in five legs each way, with the wheel
 * between them.
 */
export const browserScroll: Row = {
  name: "browser-scroll",
  run: (options) =>
    withInspector(options, async (watched) => {
      const { page } = watched.inspector;
      const legs = 5;
      const legMs = (secondsOf(options) * 1000) / 2 / legs;
      const go = async (from: number, to: number): Promise<void> => {
        await dragScrollbar(page, { from, to, ms: legMs * 0.6 });
        await turnWheel(page, { by: to > from ? 240 : -240, ms: legMs * 0.4 });
      };
      const isShown = (row: number): Promise<void> =>
        page.locator(`.row[aria-selected][aria-rowindex="${row + 1}"]`).waitFor({ timeout: 5000 });
      const { figures } = await measure(watched, "scrolling through 1,000,000", async () => {
        for (let leg = 0; leg < legs; leg += 1) await go(leg / legs, (leg + 1) / legs);
        await isShown(1_000_000);
        for (let leg = legs; leg > 0; leg -= 1) await go(leg / legs, (leg - 1) / legs);
        await isShown(1);
      });
      return figures;
    }),
};
