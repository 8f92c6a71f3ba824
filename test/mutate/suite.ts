/**
 * The project's tests as vitest runs them, in one vitest that stays: measures what a test file
 * reaches, and runs the tests that reach a mutant until one fails.
 */

import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import {
  BaseSequencer,
  createVitest,
  type Reporter,
  type TestModule,
  type TestSpecification,
  type Vitest,
} from "vitest/node";
import settings from "../../vitest.config.ts";
import { type Coverage, type Reached, type TestFile } from "./coverage.ts";
import { stateVariable, switchedPath, type Active } from "./switch.ts";

export type Verdict = { killed: true; by: string; how: string } | { killed: false; tests: number };

/** Beside what the slowest of the tests took, how long one may take before it counts as hanging. */
const patienceMs = 10_000;
/** So many more are measured before the tests in them run. */
const measuredAtOnce = 3;

export class Suite {
  readonly #root: string;
  readonly #state: string;
  readonly #coverage: Coverage;
  readonly #mutated: readonly string[];
  readonly #asked: Options["asked"];
  readonly #say: (line: string) => void;
  readonly #vitest: Vitest;
  readonly #watch: Watch;

  private constructor(options: Options, vitest: Vitest, watch: Watch) {
    this.#root = options.root;
    this.#state = options.state;
    this.#coverage = options.coverage;
    this.#mutated = [...options.switched.keys()];
    this.#asked = options.asked;
    this.#say = options.say;
    this.#vitest = vitest;
    this.#watch = watch;
  }

  static async start(options: Options): Promise<Suite> {
    const { root, state, switched } = options;
    mkdirSync(join(state, "sources"), { recursive: true });
    const code = new Map([...switched].map(([path, text]) => [join(root, path), text]));
    for (const [path, text] of switched) writeFileSync(switchedPath(state, path), text);
    const watch = new Watch(state);
    const parts = partsOf(settings);
    const vitest = await createVitest(
      "test",
      {
        config: false,
        root,
        watch: false,
        reporters: [watch],
        maxWorkers: 1,
        bail: 1,
        teardownTimeout: 2000,
        ...parts.test,
        isolate: false,
        retry: 0,
        setupFiles: [
          ...[parts.test.setupFiles ?? []].flat(),
          join(root, "test/mutate/in-worker.ts"),
        ],
        env: { [stateVariable]: state },
        execArgv: ["--max-old-space-size=1500"],
        sequence: { sequencer: AsGiven },
      },
      {
        resolve: parts.resolve,
        plugins: [{ name: "mutants", enforce: "pre", load: (id) => code.get(id) ?? null }],
      },
    );
    return new Suite(options, vitest, watch);
  }

  async stop(): Promise<void> {
    await this.#vitest.close();
  }

  async #measure(path: string): Promise<TestFile> {
    this.#say(`measuring ${path}`);
    const hits = join(this.#state, "hits");
    rmSync(hits, { recursive: true, force: true, maxRetries: 10 });
    mkdirSync(hits, { recursive: true });
    this.#write(null);
    const modules = await this.#run([{ path }], 60_000, 0);
    const measured: TestFile = { hash: "", loading: {}, tests: [] };
    for (const test of modules.flatMap((module) => [...module.children.allTests()])) {
      if (test.result().state === "passed")
        measured.tests.push({
          name: test.fullName,
          ms: Math.ceil(test.diagnostic()?.duration ?? 0),
          reached: {},
        });
      else if (test.result().state === "failed")
        this.#say(`  left out, because it fails without a mutant: ${test.fullName}`);
    }
    const byName = Map.groupBy(measured.tests, ({ name }) => name);
    for (const file of readdirSync(hits)) {
      const lines = readFileSync(join(hits, file), "utf8")
        .split("\n")
        .filter((line) => line !== "");
      let about: { test: string | null } = { test: null };
      for (const line of lines) {
        const isHit = line[0] !== "{";
        if (!isHit) about = JSON.parse(line) as { test: string | null; reached?: Reached };
        const [name = "", n = ""] = line.split("#");
        const reached: Reached = isHit
          ? { [name]: [Number(n)] }
          : ((about as { reached?: Reached }).reached ?? {});
        const targets =
          about.test === null
            ? [measured.loading]
            : (byName.get(about.test) ?? []).map((test) => test.reached);
        for (const target of targets) merge(target, reached);
      }
    }
    return measured;
  }

  /**
   * Runs the tests that reach a mutant, the nearest and those already measured first, until one
   * fails.
   */
  async try(active: Active): Promise<Verdict> {
    const { tests: paths, maxFiles } = this.#asked(active.file);
    const all = this.#coverage.testsNear(active.file).filter((path) => paths.test(path));
    const near = all.slice(0, maxFiles);
    const first = near.filter((path, i) => i < measuredAtOnce || this.#coverage.isMeasured(path));
    const rest = near.filter((path) => !first.includes(path));
    // What is farther away is asked where it costs no measuring.
    const far = all.slice(maxFiles).filter((path) => this.#coverage.isMeasured(path));
    const rounds = [first, ...chunksOf(rest, measuredAtOnce), far.slice(0, maxFiles)];
    let tests = 0;
    for (const round of rounds) {
      const verdict = await this.#tryIn(round, active);
      if (verdict.killed) return verdict;
      tests += verdict.tests;
    }
    return { killed: false, tests };
  }

  async #tryIn(paths: readonly string[], active: Active): Promise<Verdict> {
    const reaches = (reached: Reached): boolean =>
      reached[active.file]?.includes(active.n) === true;
    const files: { path: string; names: string[]; rank: number; slowestMs: number }[] = [];
    for (const path of paths) {
      const { loading, tests } = await this.#coverage.of(path, (one) => this.#measure(one));
      const some = reaches(loading) ? tests : tests.filter(({ reached }) => reaches(reached));
      if (some.length === 0) continue;
      // What only the loading of the file reaches may matter to any test; those that use the rest
      // of its source come first.
      const isNear =
        tests.some(({ reached }) => active.file in reached) ||
        path.startsWith(dirname(active.file));
      const ms = some.reduce((sum, one) => sum + one.ms, 0);
      files.push({
        path,
        names: some.map(({ name }) => name),
        rank: isNear ? ms : 10 * ms,
        slowestMs: Math.max(...some.map((one) => one.ms)),
      });
    }
    if (files.length === 0) return { killed: false, tests: 0 };
    const inOrder = files.toSorted((a, b) => a.rank - b.rank);
    this.#write(active);
    const modules = await this.#run(
      inOrder,
      patienceMs + 4 * Math.max(...files.map(({ slowestMs }) => slowestMs)),
      1,
    );
    const failure = this.#watch.hung ?? failureIn(modules) ?? this.#watch.error;
    if (failure !== null) return { killed: true, by: failure.by, how: failure.how };
    return { killed: false, tests: files.reduce((sum, { names }) => sum + names.length, 0) };
  }

  async #run(
    files: readonly { path: string; names?: readonly string[] }[],
    timeoutMs: number,
    bail: number,
  ): Promise<TestModule[]> {
    const [project] = this.#vitest.projects;
    if (project === undefined) throw new Error("Vitest has no project.");
    Object.assign(project.config, { testTimeout: timeoutMs, hookTimeout: timeoutMs, bail });
    Object.assign(this.#vitest.config, { testTimeout: timeoutMs, hookTimeout: timeoutMs, bail });
    this.#watch.patienceMs = 2 * timeoutMs + 5000;
    const specifications = files.map(({ path, names }) =>
      project.createSpecification(
        join(this.#root, path),
        names === undefined ? {} : { testNames: [...names] },
      ),
    );
    this.#watch.begin();
    const timer = setInterval(() => this.#watch.look(), 500);
    try {
      const { testModules } = await this.#vitest.runTestSpecifications(specifications);
      return testModules.filter(({ moduleId }) =>
        files.some(({ path }) => relative(this.#root, moduleId) === path),
      );
    } catch (error) {
      if (this.#watch.hung === null)
        this.#watch.error ??= {
          by: "",
          how: error instanceof Error ? error.message : String(error),
        };
      return [];
    } finally {
      clearInterval(timer);
    }
  }

  #write(active: Active | null): void {
    writeFileSync(join(this.#state, "run.json"), JSON.stringify({ active, files: this.#mutated }));
  }
}

type Options = {
  root: string;
  /** A directory for what the tool and the processes of the tests tell each other. */
  state: string;
  coverage: Coverage;
  /** The mutated sources, as they are run. */
  switched: ReadonlyMap<string, string>;
  /**
   * Which test files are asked about a source, by their paths. A constant of a module is reached by
   * every test that loads it: so many files are asked, those with the fewest imports between.
   */
  asked: (file: string) => { tests: RegExp; maxFiles: number };
  say: (line: string) => void;
};

type Failure = { by: string; how: string };

class AsGiven extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return files;
  }
}

/** Sees that the worker still gets on with its tests, and ends it when it does not. */
class Watch implements Reporter {
  patienceMs = 0;
  hung: Failure | null = null;
  error: Failure | null = null;
  readonly #state: string;
  #last = 0;
  #current = "";

  constructor(state: string) {
    this.#state = state;
  }

  begin(): void {
    this.hung = null;
    this.error = null;
    this.#current = "";
    this.#last = performance.now();
  }

  onTestModuleStart(module: TestModule): void {
    this.#moved(module.moduleId);
  }

  onTestCaseReady(test: { fullName: string }): void {
    this.#moved(test.fullName);
  }

  onTestCaseResult(test: { fullName: string }): void {
    this.#moved(test.fullName);
  }

  onTestRunEnd(_modules: unknown, errors: readonly { message: string }[]): void {
    const [first] = errors;
    if (first !== undefined) this.error ??= { by: this.#current, how: first.message };
  }

  look(): void {
    if (performance.now() - this.#last < this.patienceMs || this.hung !== null) return;
    this.hung = { by: this.#current, how: "hangs" };
    try {
      process.kill(Number(readFileSync(join(this.#state, "worker"), "utf8")), "SIGKILL");
    } catch (error) {
      // It may have ended meanwhile.
      if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
    }
  }

  #moved(name: string): void {
    this.#current = name;
    this.#last = performance.now();
  }
}

function failureIn(modules: readonly TestModule[]): Failure | null {
  for (const module of modules) {
    for (const test of module.children.allTests("failed")) {
      return { by: test.fullName, how: test.result().errors?.[0]?.message ?? "" };
    }
    const [error] = [
      ...module.errors(),
      ...[...module.children.allSuites()].flatMap((suite) => suite.errors()),
    ];
    if (error !== undefined) return { by: module.moduleId, how: error.message };
  }
  return null;
}

/** The project of the configuration that holds all but the browser's tests. */
function partsOf(config: typeof settings) {
  for (const project of config.test?.projects ?? []) {
    if (typeof project === "object" && "test" in project && project.test?.name === "parts")
      return { resolve: project.resolve ?? {}, test: project.test };
  }
  throw new Error("vitest.config.ts has no project with the name parts.");
}

function merge(target: Reached, more: Reached): void {
  for (const [path, numbers] of Object.entries(more))
    target[path] = [...new Set([...(target[path] ?? []), ...numbers])];
}

function chunksOf<T>(all: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(all.length / size) }, (_, i) =>
    all.slice(i * size, (i + 1) * size),
  );
}
