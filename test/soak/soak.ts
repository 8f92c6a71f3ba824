/**
 * `npm run soak -- --minutes 30`: 500 messages a second of every kind into the built program, two
 * destinations at test endpoints with faults, a clock that is stepped and sped up, retention, and
 * the inspector open on Live. Prints a look at everything each ten seconds, then settles and prints
 * what holds and what does not; ends with 1 when something does not.
 */

import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import type { AnswerOf, InputOf } from "../../src/contract/contract.ts";
import { buildIfStale } from "../../src/launch/build.ts";
import { startProgram, watchLoop, type Program } from "../bench/children.ts";
import { openInspector, type InspectorPage } from "../bench/inspector-page.ts";
import { withDirectory } from "../bench/temporary.ts";
import { launchBrowser } from "../support/browser.ts";
import { checkAccounts, sum, type Check } from "./accounts.ts";
import { startClockMoves } from "./clock-moves.ts";
import { messagesPerSecond, startLoad, type Load, type Sender } from "./load.ts";
import { checkMemory, tableHead, tableRow, takeSample, type Sample } from "./samples.ts";

const sampleMs = 10_000;

/** Reached after 40 seconds, and then removed as fast as messages come. */
const maxMessages = 20_000;

/** Of the wanted rate: what a busy machine may cost the sender. */
const leastRate = 0.95;

const always = 1_000_000_000;

/** A share of everything that a webhook can meet. */
const flaky: InputOf<"endpoints.create">["steps"] = [
  { do: "answer", status: 503, match: { type: "alias" }, times: always },
  { do: "answer", status: 400, match: { type: "group" }, times: always },
  { do: "answer", status: 503, chance: 0.04 },
  { do: "answer", status: 429, headers: { "Retry-After": "20" }, chance: 0.005 },
  { do: "reset", chance: 0.01 },
  { do: "close", chance: 0.005 },
  { do: "truncate", chance: 0.005 },
  { do: "garbage", chance: 0.005 },
  { do: "drip", forMs: 800, chance: 0.003 },
  { do: "hang", chance: 0.002 },
  { do: "answer" },
];

/** Down, then back, over and over. */
const recovering: InputOf<"endpoints.create">["steps"] = [
  { do: "answer", times: 5000 },
  { do: "answer", status: 500, times: 200 },
  { do: "reset", times: 50 },
  { do: "answer", status: 503, times: 200 },
];

const senders: readonly Sender[] = [
  { writeKey: "soak_web", mode: "explain" },
  { writeKey: "soak_server", mode: "production" },
];

/**
 * Both sources go to the flaky endpoint, the first one to the other as well. Answers how many
 * destinations each source has.
 */
async function configure(program: Program): Promise<Map<string, number>> {
  await program.call("PATCH", "/api/settings", { maxMessages });
  const ids: string[] = [];
  for (const { writeKey, mode } of senders) {
    ids.push(
      (
        await program.call<{ id: string }>("POST", "/api/sources", {
          name: writeKey,
          writeKey,
          mode,
        })
      ).id,
    );
  }
  const destination = async (
    name: string,
    steps: typeof flaky,
    after: "repeat-last" | "start-over",
    sourceIds: string[],
  ): Promise<void> => {
    const { url } = await program.call<{ url: string }>("POST", "/api/endpoints", {
      name,
      steps,
      after,
    });
    await program.call("POST", "/api/destinations", {
      name,
      sourceIds,
      webhooks: [{ url }],
      sharedSecret: "a secret of the soak",
    });
  };
  await destination("flaky", flaky, "repeat-last", ids);
  await destination("recovering", recovering, "start-over", ids.slice(0, 1));
  return new Map(ids.map((id, place) => [id, place === 0 ? 2 : 1]));
}

/** Until nothing moves any more and retention has caught up. */
async function comeToRest(program: Program): Promise<void> {
  await program.call("POST", "/api/clock", { mode: "paused" });
  await program.call("POST", "/api/clock/advance", { to: "idle" });
  const until = performance.now() + 60_000;
  while (performance.now() < until) {
    const { messages } = await program.call<AnswerOf<"stats.get">>("GET", "/api/stats");
    const { rejected, duplicate } = messages.byState;
    if (messages.total - rejected - duplicate <= maxMessages) return;
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}

async function checkPage(
  { page, problems, rowsInView }: InspectorPage,
  program: Program,
): Promise<Check[]> {
  const { messages } = await program.call<AnswerOf<"stats.get">>("GET", "/api/stats");
  const tail = page.locator(`.list-body[aria-rowcount="${messages.total + 1}"]`);
  const follows = await tail.waitFor({ timeout: 10_000 }).then(
    () => true,
    () => false,
  );
  const rows = await page.locator(".live .row-list > *").count();
  return [
    {
      what: "the page has no error on its console",
      found: listed(problems),
      passed: problems.length === 0,
    },
    {
      what: "the list in the page is up to date, and as short as the screen",
      found: `${await page.locator(".list-body").getAttribute("aria-rowcount")} rows with the head, ${rows} of them in the page`,
      passed: follows && rows <= (await rowsInView()),
    },
  ];
}

const listed = (lines: readonly string[]): string =>
  lines.length === 0 ? "none" : `${lines.length}: ${lines.slice(0, 5).join(" | ")}`;

function checkLoad(load: Load, seconds: number, seen: ReadonlySet<string>): Check[] {
  const rate = sum(load.accepted) / seconds;
  const wanted = ["delivered", "failed", "waiting", "filtered", "rejected", "duplicate"];
  const missing = wanted.filter((state) => !seen.has(state));
  return [
    {
      what: "the load came in",
      found: `${rate.toFixed(0)} messages/s of ${messagesPerSecond}`,
      passed: rate >= messagesPerSecond * leastRate,
    },
    {
      what: "each request was answered as it should be",
      found: listed(load.problems),
      passed: load.problems.length === 0,
    },
    {
      what: "the usual states were all seen",
      found: missing.length === 0 ? [...seen].join(", ") : `not ${missing.join(", ")}`,
      passed: missing.length === 0,
    },
  ];
}

export type SoakResult = { checks: Check[]; samples: Sample[] };

async function soak(minutes: number, say: (line: string) => void): Promise<SoakResult> {
  return withDirectory(async (data) => {
    const errors: string[] = [];
    const program = await startProgram(data, {
      nodeFlags: watchLoop,
      onError: (text) => errors.push(text.trim()),
    });
    const browser = await launchBrowser();
    try {
      const destinationsOf = await configure(program);
      const load = startLoad({ ingestUrl: program.ingestUrl, senders, keep: maxMessages * 3 });
      const startedAt = performance.now();
      const inspector = await openInspector(browser, program);
      const moves = startClockMoves(program);
      const samples: Sample[] = [];
      const seen = new Set<string>();
      say(tableHead);
      for (let look = 1; look * sampleMs <= minutes * 60_000; look += 1) {
        await new Promise((resolve) =>
          setTimeout(resolve, Math.max(0, startedAt + look * sampleMs - performance.now())),
        );
        const sample = await takeSample({ program, inspector, load, startedAt, seen });
        samples.push(sample);
        say(tableRow(sample));
      }
      await load.stop();
      const seconds = (performance.now() - startedAt) / 1000;
      await moves.stop();
      say(
        `\nThe clock: ${JSON.stringify(moves.made)}, the longest move ${(moves.longestMs() / 1000).toFixed(1)} s. Coming to rest…`,
      );
      await comeToRest(program);
      const checks = [
        ...checkLoad(load, seconds, seen),
        {
          what: "each move of the clock was answered",
          found: listed(moves.problems),
          passed: moves.problems.length === 0,
        },
        ...(await checkAccounts({ program, load, destinationsOf, maxMessages })),
        ...checkMemory(samples),
        ...(await checkPage(inspector, program)),
      ];
      await program.stop();
      const code = program.process.exitCode;
      checks.push(
        {
          what: "the program ends when it is asked to",
          found: `exit code ${code}`,
          passed: code === 0,
        },
        { what: "nothing on standard error", found: listed(errors), passed: errors.length === 0 },
      );
      return { checks, samples };
    } finally {
      await browser.close();
      await program.stop();
    }
  });
}

const { values: flags } = parseArgs({
  options: {
    minutes: { type: "string", default: "5" },
    json: { type: "string" },
    help: { type: "boolean", default: false },
  },
});
const minutes = Number(flags.minutes);
if (flags.help || !(minutes >= 1)) {
  process.stdout.write(
    "Usage: npm run soak -- [--minutes N] [--json FILE]\n\n  --minutes  For how long; 1 or more. Default: 5.\n  --json     Where to write the looks and the checks as JSON.\n",
  );
  process.exitCode = flags.help ? 0 : 2;
} else {
  await buildIfStale();
  const say = (line: string): void => void process.stdout.write(`${line}\n`);
  const result = await soak(minutes, say);
  const { checks } = result;
  if (flags.json !== undefined) writeFileSync(flags.json, JSON.stringify(result));
  say("");
  for (const { what, found, passed } of checks)
    say(`${passed ? "PASS" : "FAIL"}  ${what}: ${found}`);
  process.exitCode = checks.every(({ passed }) => passed) ? 0 : 1;
}
