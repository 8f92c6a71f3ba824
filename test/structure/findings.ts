/** What nobody needs, and what grew too long, each as one sentence. */

import { isForTests, isTest, type SourceFile } from "./source-file.ts";

export type Repository = {
  files: readonly SourceFile[];
  manifest: Manifest;
  /** The commands that a package brings. */
  commandsOf(name: string): readonly string[];
  exceptions: Exceptions;
};

type Manifest = {
  main?: string;
  bin?: Record<string, string>;
  exports?: Record<string, Record<string, string>>;
  scripts?: Record<string, string>;
  dependencies?: Record<string, string>;
  devDependencies?: Record<string, string>;
};

/** Each with its reason. */
type Exceptions = {
  long: Record<string, string>;
  silentPackages: Record<string, string>;
};

const maxLines = 500;

/** What is found about a file or a package. */
type Finding = { about: string; sentence: string };

export function findingsIn({ files, manifest, commandsOf, exceptions }: Repository): string[] {
  const reach = reachOf(files, manifest);
  return [
    ...except({}, [...deadExports(files, reach.named), ...unreachedFiles(files, reach)]),
    ...except(exceptions.long, longFiles(files)),
    ...except(exceptions.silentPackages, unusedPackages(files, manifest, commandsOf)),
  ];
}

/** An exception that nothing needs any more is a finding too. */
function except(reasons: Record<string, string>, findings: readonly Finding[]): string[] {
  const needless = Object.keys(reasons).filter(
    (name) => !findings.some(({ about }) => about === name),
  );
  return [
    ...findings.filter(({ about }) => !(about in reasons)).map(({ sentence }) => sentence),
    ...needless.map(
      (name) =>
        `${name} needs no exception any more: take it out of test/structure/exceptions.json.`,
    ),
  ];
}

function paths(files: readonly SourceFile[]): string[] {
  return files.map(({ path }) => path);
}

type Reach = {
  program: ReadonlySet<string>;
  tests: ReadonlySet<string>;
  /** Files that somebody starts or loads by name: all their exports may be meant. */
  named: ReadonlySet<string>;
};

function reachOf(files: readonly SourceFile[], manifest: Manifest): Reach {
  const entries = entriesOf(manifest, files);
  const byPath = new Map(files.map((file) => [file.path, file]));
  return {
    program: reachedFrom(entries, byPath),
    tests: reachedFrom(paths(files).filter(isTest), byPath),
    named: new Set([...entries, ...files.flatMap((file) => namedBy(file, byPath))]),
  };
}

/**
 * The files that the manifest names, by what they are built from, and the configurations of tools.
 */
function entriesOf(
  { main = "", bin = {}, exports = {}, scripts = {} }: Manifest,
  files: readonly SourceFile[],
): string[] {
  const names = [
    main,
    ...Object.values(bin),
    ...Object.values(exports).flatMap((one) => Object.values(one)),
    ...Object.values(scripts),
  ];
  const words = names.flatMap((name) => name.split(/\s+/)).map((word) => word.replace(/^\.\//, ""));
  const sources = new Set(
    words.map((word) =>
      word.startsWith("out/") ? word.replace(/^out/, "src").replace(/(\.d)?\.[jt]s$/, ".ts") : word,
    ),
  );
  return paths(files).filter((path) => sources.has(path) || path.endsWith(".config.ts"));
}

function namedBy({ names }: SourceFile, files: ReadonlyMap<string, SourceFile>): string[] {
  return names.flatMap((name) =>
    [...files.keys()].filter((path) => path === name || path.endsWith(`/${name}`)),
  );
}

function reachedFrom(
  starts: readonly string[],
  files: ReadonlyMap<string, SourceFile>,
): Set<string> {
  const reached = new Set<string>();
  const open = [...starts];
  for (let path = open.pop(); path !== undefined; path = open.pop()) {
    const file = files.get(path);
    if (file === undefined || reached.has(path)) continue;
    reached.add(path);
    open.push(...file.imports.keys(), ...namedBy(file, files));
  }
  return reached;
}

/**
 * An export of the program that only tests take is alive when its own file uses it too: then it is
 * a part that a test looks at alone.
 */
function deadExports(files: readonly SourceFile[], named: ReadonlySet<string>): Finding[] {
  const takenBy = new Map<string, Set<"program" | "tests">>();
  for (const { path, imports } of files) {
    for (const [target, names] of imports) {
      for (const name of names) {
        const key = `${target} ${name}`;
        takenBy.set(
          key,
          (takenBy.get(key) ?? new Set()).add(isForTests(path) ? "tests" : "program"),
        );
      }
    }
  }
  const wordsFor = ({ path, uses }: SourceFile, name: string): string | null => {
    const by = new Set([
      ...(takenBy.get(`${path} ${name}`) ?? []),
      ...(takenBy.get(`${path} *`) ?? []),
    ]);
    if (by.has("program") || (by.has("tests") && (isForTests(path) || uses.has(name)))) return null;
    if (by.has("tests")) return "is used by tests alone.";
    return uses.has(name)
      ? "is used in its own file alone, and need not be exported."
      : "is used by nobody.";
  };
  return files
    .filter(({ path }) => !named.has(path))
    .flatMap((file) =>
      file.exports.flatMap((name) => {
        const words = wordsFor(file, name);
        return words === null
          ? []
          : [{ about: file.path, sentence: `${file.path}: ${name} ${words}` }];
      }),
    );
}

function unreachedFiles(files: readonly SourceFile[], { program, tests }: Reach): Finding[] {
  return paths(files)
    .filter((path) => !program.has(path) && !(isForTests(path) && tests.has(path)))
    .map((path) => ({ about: path, sentence: `${path} is reached by nothing.` }));
}

function longFiles(files: readonly SourceFile[]): Finding[] {
  return files
    .filter(({ lines }) => lines > maxLines)
    .map(({ path, lines }) => ({
      about: path,
      sentence: `${path} has ${lines} lines, more than ${maxLines}.`,
    }));
}

function unusedPackages(
  files: readonly SourceFile[],
  manifest: Manifest,
  commandsOf: Repository["commandsOf"],
): Finding[] {
  const { dependencies = {}, devDependencies = {}, scripts = {} } = manifest;
  const names = Object.keys({ ...dependencies, ...devDependencies });
  const imported = new Set(files.flatMap(({ packages }) => [...packages]));
  const called = new Set(Object.values(scripts).flatMap((script) => script.split(/\s+/)));
  const isUsed = (name: string): boolean =>
    name.startsWith("@types/")
      ? [...names, "node"].includes(name.slice("@types/".length))
      : imported.has(name) || commandsOf(name).some((command) => called.has(command));
  return names
    .filter((name) => !isUsed(name))
    .map((name) => ({ about: name, sentence: `${name} is used by nothing.` }));
}
