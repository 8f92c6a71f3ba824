/**
 * Which test reaches which mutant: measured for a test file when it is first needed, and kept in a
 * file until something behind that test changes.
 */

import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, posix } from "node:path";
import { isTest, type SourceFile } from "../structure/source-file.ts";

export type Reached = Record<string, number[]>;
export type TestFile = {
  hash: string;
  /** What was reached outside of a test. */
  loading: Reached;
  tests: { name: string; ms: number; reached: Reached }[];
};
type Measure = (path: string) => Promise<TestFile>;

/**
 * Tests of text, of what is built and of how it is started: none runs the sources that are mutated
 * but through a build.
 */
const otherTests =
  /^(?:test\/(?:docs|structure|mutate|testing|e2e)|src\/(?:launch|renderer|main|testing))\//;
/**
 * These take minutes, and kill their processes at random moments: what only they notice counts as
 * alive.
 */
const slowTests = /^test\/(?:crash|simulation|attack)\//;

export class Coverage {
  readonly #sources: ReadonlyMap<string, SourceFile>;
  readonly #texts: ReadonlyMap<string, string>;
  /** The mutated sources, as they are run. */
  readonly #switched: ReadonlyMap<string, string>;
  readonly #cacheFile: string;
  readonly #known = new Map<string, Promise<TestFile>>();
  readonly #distances = new Map<string, ReadonlyMap<string, number>>();
  readonly #directlyBehind = new Map<string, readonly string[]>();

  constructor(options: {
    sources: ReadonlyMap<string, SourceFile>;
    texts: ReadonlyMap<string, string>;
    switched: ReadonlyMap<string, string>;
    cacheFile: string;
  }) {
    this.#sources = options.sources;
    this.#texts = options.texts;
    this.#switched = options.switched;
    this.#cacheFile = options.cacheFile;
    for (const [path, before] of Object.entries(this.#readCache())) {
      if (this.#sources.has(path) && before.hash === this.#hashOf(path, before))
        this.#known.set(path, Promise.resolve(before));
    }
  }

  /**
   * The test files that can reach a source: those beside it, then those with the fewest imports
   * between; of those with as many, first the ones whose names begin like its folder's or its own.
   */
  testsNear(file: string): string[] {
    const words = file
      .split("/")
      .slice(2)
      .map((part) => part.slice(0, 5));
    const near: { path: string; distance: number }[] = [];
    for (const path of this.#sources.keys()) {
      if (!isTest(path) || otherTests.test(path) || slowTests.test(path)) continue;
      const distance = this.#distancesFrom(path).get(file);
      if (distance === undefined) continue;
      const isBeside = dirname(path) === dirname(file);
      const isNamedAlike = words.some((word) =>
        path.split("/").some((part) => part.startsWith(word)),
      );
      near.push({
        path,
        distance: (isBeside ? distance / 2 : distance) - (isNamedAlike ? 0.25 : 0),
      });
    }
    return near.toSorted((a, b) => a.distance - b.distance).map(({ path }) => path);
  }

  isMeasured(path: string): boolean {
    return this.#known.has(path);
  }

  async of(path: string, measure: Measure): Promise<TestFile> {
    let known = this.#known.get(path);
    if (known === undefined) {
      known = this.#measure(path, measure);
      this.#known.set(path, known);
    }
    return await known;
  }

  async #measure(path: string, measure: Measure): Promise<TestFile> {
    const measured = await measure(path);
    measured.hash = this.#hashOf(path, measured);
    mkdirSync(dirname(this.#cacheFile), { recursive: true });
    // Read again, because another run may have added to it.
    writeFileSync(this.#cacheFile, JSON.stringify({ ...this.#readCache(), [path]: measured }));
    return measured;
  }

  #readCache(): Record<string, TestFile> {
    try {
      return JSON.parse(readFileSync(this.#cacheFile, "utf8")) as Record<string, TestFile>;
    } catch {
      return {};
    }
  }

  /**
   * Of everything that decides what was measured: the mutated files that were reached, and every
   * other file behind the test.
   */
  #hashOf(test: string, { loading, tests }: TestFile): string {
    const reached = new Set(
      [loading, ...tests.map((one) => one.reached)].flatMap((one) => Object.keys(one)),
    );
    const hash = createHash("sha256");
    for (const path of [...this.#distancesFrom(test).keys()]
      .filter((one) => !this.#switched.has(one))
      .toSorted()) {
      hash.update(path).update(this.#texts.get(path) ?? "");
    }
    for (const path of [...reached].toSorted())
      hash.update(path).update(this.#switched.get(path) ?? "");
    return hash.digest("hex");
  }

  /** The files that a test imports or names, and theirs, each with the number of steps to it. */
  #distancesFrom(test: string): ReadonlyMap<string, number> {
    let distances = this.#distances.get(test);
    if (distances === undefined) {
      const found = new Map<string, number>();
      let open = [test];
      for (let distance = 0; open.length > 0; distance += 1) {
        const here = [...new Set(open)].filter(
          (path) => this.#sources.has(path) && !found.has(path),
        );
        for (const path of here) found.set(path, distance);
        open = here.flatMap((path) => this.#behind(path));
      }
      this.#distances.set(test, (distances = found));
    }
    return distances;
  }

  #behind(path: string): readonly string[] {
    let behind = this.#directlyBehind.get(path);
    if (behind === undefined) {
      const { imports, names } = this.#sources.get(path) as SourceFile;
      const named = names.flatMap((name) => [name, posix.join(posix.dirname(path), name)]);
      const ends = names.filter((name) => name.includes("/")).map((name) => `/${name}`);
      const found = [...this.#sources.keys()].filter(
        (one) => named.includes(one) || ends.some((end) => one.endsWith(end)),
      );
      this.#directlyBehind.set(path, (behind = [...imports.keys(), ...found]));
    }
    return behind;
  }
}
