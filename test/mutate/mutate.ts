/**
 * `npm run mutate`: changes the sources in one small place at a time and runs the tests that reach
 * it. A change that no test notices is printed. docs/decisions/0017-mutation-testing.md says what
 * counts.
 */

import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { drawUnit } from "../../src/domain/random.ts";
import { isForTests, readSourceFile } from "../structure/source-file.ts";
import { Coverage } from "./coverage.ts";
import { knownOf, readKnown, staleIn, type Known } from "./known.ts";
import { mutationsOf, type Mutant } from "./mutations.ts";
import { Suite, type Verdict } from "./suite.ts";
import { switched } from "./switched.ts";

const folders = ["src/domain", "src/engine", "src/store", "src/api", "src/headless"];
/** Percent, of the mutants that are not equivalent. */
const wanted = 88;

/** The tests that are asked, and how many files of them at most: the nearest. */
type Asked = { tests: RegExp; maxFiles: number };
const nearest: Asked = { tests: /^/, maxFiles: 25 };
/** Only the whole pipeline shows much of what the engine does, so all of its tests are asked. */
const askedOfEngine: Asked = {
  tests: /^(?:src\/(?:domain|engine)|test\/(?:conformance|telemetry))\//,
  maxFiles: Infinity,
};
/** The tests of the whole pipeline call the API, and have most of what its handlers answer. */
const askedOfApi: Asked = {
  tests: /^(?:src|test\/conformance)\//,
  maxFiles: Infinity,
};

const help = `Usage: npm run mutate -- [FOLDER, FILE, FILE:LINE or FILE:FROM-TO ...] [flags]

  Without a folder: ${folders.join(", ")}.
  Others, such as src/check, when they are named.

  --sample N   So many mutants of each folder, drawn at random. Default: all.
  --seed N     A number that says what is drawn. Default: 1.
  --kind K     Only mutants of this kind; --list shows the kinds.
  --change P   Only mutants whose change matches this pattern.
  --files N    Asks so many test files at most, the nearest; what only a farther one notices counts as alive. Default: ${nearest.maxFiles}, for the engine and the API all.
  --tests P    Asks only test files whose path matches this pattern. Default: all, for the engine those of domain, engine, conformance and telemetry, for the API those of src and conformance.
  --jobs N     So many tests at a time. Default: 1.
  --known      Also those that test/mutate/known.json lists as equivalent.
  --list       Prints the mutants, and runs nothing.
  --json FILE  Writes what became of each, as far as it is.`;

const root = fileURLToPath(new URL("../../", import.meta.url));
const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    sample: { type: "string" },
    seed: { type: "string", default: "1" },
    kind: { type: "string" },
    change: { type: "string" },
    files: { type: "string" },
    tests: { type: "string" },
    jobs: { type: "string", default: "1" },
    known: { type: "boolean", default: false },
    list: { type: "boolean", default: false },
    json: { type: "string" },
    help: { type: "boolean", default: false },
  },
});

type Chosen = { folder: string; file: string; mutant: Mutant; known: Known | undefined };
type Tried = Chosen & { verdict: Verdict };

async function main(): Promise<number> {
  if (flags.help) {
    process.stdout.write(`${help}\n`);
    return 0;
  }
  if (!Number.isSafeInteger(Number(flags.seed))) {
    process.stderr.write("--seed is a whole number.\n");
    return 2;
  }
  const texts = new Map(
    globSync(["src/**/*.{ts,tsx}", "test/**/*.ts"], { cwd: root })
      .map((path) => path.replaceAll("\\", "/"))
      .map((path) => [path, readFileSync(join(root, path), "utf8")]),
  );
  const named = positionals.map((place) => place.split(":")[0] ?? "");
  const mutated = [...texts.keys()]
    .filter((path) => [...folders, ...named].some((place) => isWithin(path, place)))
    .filter((path) => path.startsWith("src/") && !isForTests(path))
    .toSorted();
  const mutants = new Map(
    mutated.map((path) => [path, mutationsOf(path, texts.get(path) ?? "").mutants]),
  );
  const known = readKnown(join(root, "test/mutate/known.json"));
  const chosen = choose(mutants, known);
  for (const stale of staleIn(known, mutants))
    say(`known.json: ${stale.file} has no "${stale.change}" in ${stale.within} any more.`);
  if (chosen.length === 0) {
    process.stderr.write("No mutants there. npm run mutate -- --help\n");
    return 2;
  }
  if (flags.list) {
    for (const one of chosen) process.stdout.write(`${sentence(one)}\n`);
    return 0;
  }

  const state = mkdtempSync(join(tmpdir(), "hookyard-mutate-"));
  process.on("exit", () => rmSync(state, { recursive: true, force: true }));
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => process.exit(130));
  const sources = new Map([...texts].map(([path, text]) => [path, readSourceFile(path, text)]));
  const code = new Map(mutated.map((path) => [path, switched(path, texts.get(path) ?? "")]));
  const coverage = new Coverage({
    sources,
    texts,
    switched: code,
    cacheFile: join(root, "node_modules/.cache/hookyard-mutate/coverage.json"),
  });
  const suites = await Promise.all(
    Array.from({ length: Number(flags.jobs) }, (_, i) =>
      Suite.start({
        root,
        state: join(state, String(i)),
        coverage,
        switched: code,
        asked: askedAbout,
        say,
      }),
    ),
  );
  try {
    const tried = await tryAll(chosen, suites);
    report(tried);
    return scoresOf(tried).every(({ score }) => score >= wanted) ? 0 : 1;
  } finally {
    for (const suite of suites) await suite.stop();
  }
}

function choose(
  mutants: ReadonlyMap<string, readonly Mutant[]>,
  known: readonly Known[],
): Chosen[] {
  const places =
    positionals.length === 0 ? folders : positionals.map((place) => place.replace(/\/$/, ""));
  return places.flatMap((folder, i) => {
    const [path = "", lines] = folder.split(":");
    const [from, to = from] = lines?.split("-") ?? [];
    const all = [...mutants]
      .filter(([file]) => isWithin(file, path))
      .map(([file, some]) => {
        const isThere = ({ line }: Mutant): boolean => line >= Number(from) && line <= Number(to);
        return [file, from === undefined ? some : some.filter(isThere)] as const;
      })
      .flatMap(([file, some]) =>
        some.map((mutant) => ({ folder, file, mutant, known: knownOf(known, file, mutant) })),
      )
      .filter(({ mutant }) => flags.kind === undefined || mutant.kind === flags.kind)
      .filter(
        ({ mutant }) => flags.change === undefined || new RegExp(flags.change).test(mutant.change),
      )
      .filter((one) => flags.known || one.known?.verdict !== "equivalent");
    if (flags.sample === undefined) return all;
    const drawn = all
      .map((one, at) => ({ one, draw: drawUnit(Number(flags.seed), i, at) }))
      .toSorted((a, b) => a.draw - b.draw);
    // In the order of the files, so that a reader sees what belongs together.
    const some = new Set(drawn.slice(0, Number(flags.sample)).map(({ one }) => one));
    return all.filter((one) => some.has(one));
  });
}

function askedAbout(file: string): Asked {
  const usual = file.startsWith("src/engine/")
    ? askedOfEngine
    : file.startsWith("src/api/")
      ? askedOfApi
      : nearest;
  return {
    tests: flags.tests === undefined ? usual.tests : new RegExp(flags.tests),
    maxFiles: flags.files === undefined ? usual.maxFiles : Number(flags.files),
  };
}

async function tryAll(chosen: readonly Chosen[], suites: readonly Suite[]): Promise<Tried[]> {
  const tried: Tried[] = [];
  const open = [...chosen.entries()];
  const work = async (suite: Suite): Promise<void> => {
    for (let next = open.shift(); next !== undefined; next = open.shift()) {
      const [i, one] = next;
      const startedAt = performance.now();
      const verdict = await suite.try({ file: one.file, n: one.mutant.n });
      tried[i] = { ...one, verdict };
      if (flags.json !== undefined)
        writeFileSync(flags.json, `${JSON.stringify(tried.filter(Boolean), null, 2)}\n`);
      say(
        `${tried.filter(Boolean).length}/${chosen.length} ${verdict.killed ? "killed  " : "SURVIVED"} ${sentence(one)} (${((performance.now() - startedAt) / 1000).toFixed(1)} s)`,
      );
    }
  };
  await Promise.all(suites.map(work));
  return tried;
}

function report(tried: readonly Tried[]): void {
  const out: string[] = [];
  for (const one of tried.filter(({ verdict }) => !verdict.killed)) {
    out.push(`${sentence(one)}\n    ${one.mutant.text}\n    ${fate(one)}`);
  }
  for (const one of tried) {
    if (one.known !== undefined && one.verdict.killed)
      out.push(`${sentence(one)}
    is in known.json, but "${one.verdict.by}" kills it: take it out.`);
  }
  for (const { folder, killed, counted, score } of scoresOf(tried))
    out.push(`${folder}: ${killed} of ${counted} killed, ${score.toFixed(1)} %`);
  process.stdout.write(`\n${out.join("\n")}\n`);
}

function fate({ verdict, known }: Tried): string {
  if (known !== undefined) return `${known.verdict}: ${known.reason}`;
  return verdict.killed || verdict.tests === 0
    ? "no test reaches it"
    : `survives ${verdict.tests} tests`;
}

function scoresOf(
  tried: readonly Tried[],
): { folder: string; killed: number; counted: number; score: number }[] {
  return [...Map.groupBy(tried, ({ folder }) => folder)].map(([folder, all]) => {
    const counted = all.filter(({ known }) => known?.verdict !== "equivalent");
    const killed = counted.filter(({ verdict }) => verdict.killed).length;
    return { folder, killed, counted: counted.length, score: (100 * killed) / counted.length };
  });
}

const isWithin = (file: string, place: string): boolean =>
  file === place || file.startsWith(`${place.replace(/\/$/, "")}/`);

function sentence({ file, mutant }: Pick<Chosen, "file" | "mutant">): string {
  return `${file}:${mutant.line} ${mutant.kind}: ${mutant.change}`;
}

function say(line: string): void {
  process.stderr.write(`${line}\n`);
}

process.exitCode = await main();
