import { expect, test } from "vitest";
import { parseCheckFlags } from "./check-command.ts";
import { parseExploreFlags, progressText } from "./explore-command.ts";
import { helpOf, readFlags, wholeNumber } from "./flags.ts";

const command = {
  name: "run",
  operands: "FILE",
  flags: {
    seed: { value: "N", text: "A seed." },
    json: { text: "JSON." },
    out: { value: "FILE", text: "A file.", bare: "-", several: true },
  },
} as const;

test("flags and what stands beside them are read", () => {
  expect(readFlags(command, ["a.yaml", "--seed", "7"])).toMatchObject({
    values: { seed: "7" },
    positionals: ["a.yaml"],
  });
});

test("a part of a filter that begins with a minus is no flag", () => {
  expect(readFlags(command, ["-state:failed", "--seed", "-event:a b"])).toMatchObject({
    values: { seed: "-event:a b" },
    positionals: ["-state:failed"],
  });
});

test.each([[["--help"]], [["-h", "a.yaml"]]])("%j asks for the help text", (args) => {
  expect(readFlags(command, args)).toBe("help");
});

test.each([
  [[], {}, { seed: undefined, json: false, out: [] }],
  [
    [],
    { HOOKYARD_SEED: "7", HOOKYARD_JSON: "1", HOOKYARD_OUT: "o" },
    { seed: "7", json: true, out: ["o"] },
  ],
  [[], { HOOKYARD_SEED: "", HOOKYARD_JSON: "off" }, { seed: undefined, json: false, out: [] }],
  [
    ["--seed=1", "--json"],
    { HOOKYARD_SEED: "7", HOOKYARD_JSON: "0" },
    { seed: "1", json: true, out: [] },
  ],
  [["--out", "--json"], {}, { seed: undefined, json: true, out: ["-"] }],
  [["--out", "a", "--out"], {}, { seed: undefined, json: false, out: ["a", "-"] }],
  [["--out", "-"], {}, { seed: undefined, json: false, out: ["-"] }],
])("%j with %j in the environment are %j", (args, environment, values) => {
  expect(readFlags(command, args, { environment })).toEqual({ values, positionals: [] });
});

test("a switch in the environment is 1 or 0", () => {
  expect(readFlags(command, [], { environment: { HOOKYARD_JSON: "json" } })).toEqual({
    wrong: "HOOKYARD_JSON in the environment must be 1 or 0, not json.",
  });
});

test.each([
  [["--sed", "7"], true, "Unknown option '--sed'. hookyard run --help lists all flags."],
  [["a.yaml"], false, /^Unexpected argument 'a.yaml'.* hookyard run --help lists all flags\.$/],
])("%j is refused in one line", (args, allowPositionals, wrong) => {
  const { operands, ...without } = command;
  const read = readFlags(allowPositionals ? { ...without, operands } : without, args);
  expect(read).toEqual({ wrong: expect.stringMatching(wrong) });
  expect((read as { wrong: string }).wrong).not.toContain("\n");
});

test("a value of a repeated flag may begin as a part of a filter does", () => {
  const flags = { redact: { value: "PATH", text: "A path.", several: true } } as const;
  const read = readFlags({ ...command, flags }, ["--redact", "-a:b", "-c:d"]);
  expect(read).toMatchObject({ values: { redact: ["-a:b"] }, positionals: ["-c:d"] });
});

test.each([
  [undefined, undefined],
  ["1", 1],
  ["10", 10],
  ["0", Number.NaN],
  ["11", Number.NaN],
  ["1.5", Number.NaN],
  ["1e0", Number.NaN],
  ["", Number.NaN],
  [" 1", Number.NaN],
])("%j as a whole number from 1 to 10 is %d", (text, number) => {
  expect(wholeNumber(text, 1, 10)).toBe(number);
});

test("explore takes a file, and has a default for every flag", () => {
  const defaults = {
    file: "a.yaml",
    runs: 1000,
    minutes: 2,
    seed: undefined,
    out: ".",
    json: false,
  };
  expect(parseExploreFlags(["a.yaml"])).toEqual(defaults);
  const all = ["--runs=1000000", "--minutes=0.5", "--seed=2147483647", "--out=b", "a.yaml"];
  expect(parseExploreFlags(all)).toEqual({
    file: "a.yaml",
    runs: 1_000_000,
    minutes: 0.5,
    seed: 2_147_483_647,
    out: "b",
    json: false,
  });
});

test.each([
  [[], "hookyard explore needs a file. hookyard explore --help says more."],
  [["a", "b"], "hookyard explore takes one file."],
  [["a", "--runs", "0"], "--runs needs a whole number from 1 to 1000000."],
  [["a", "--runs", "1000001"], "--runs needs a whole number from 1 to 1000000."],
  [["a", "--minutes", "0"], "--minutes needs a number above 0, and 1440 at most."],
  [["a", "--minutes", "1441"], "--minutes needs a number above 0, and 1440 at most."],
  [["a", "--minutes", "x"], "--minutes needs a number above 0, and 1440 at most."],
  [["a", "--seed", "2147483648"], "--seed needs a whole number below 2147483648."],
  [["a", "--seed=-1"], "--seed needs a whole number below 2147483648."],
])("explore refuses %j", (args, wrong) => {
  expect(parseExploreFlags(args)).toEqual({ wrong });
});

test("the progress of a search is shown in schedules and seconds", () => {
  expect(progressText({ schedules: 16, ms: 3600 })).toBe("16 schedules, 4 s");
});

const checked = (args: string[], environment: NodeJS.ProcessEnv = {}) =>
  parseCheckFlags(args, environment);

test("check takes a URL, and has a default for every flag", () => {
  const url = "http://127.0.0.1:9/hook";
  const defaults = { url, secret: null, headers: {}, effects: null, only: [], skip: [] };
  expect(checked([url])).toEqual(defaults);
  expect(checked(["--effects-command", "count", "--only", " a,, b ", url])).toEqual({
    ...defaults,
    effects: { command: "count" },
    only: ["a", "b"],
  });
  const reports = { json: "-", junit: "j.xml", html: "h.html", scenarios: "s" };
  const flags = Object.entries(reports).map(([name, value]) => `--${name}=${value}`);
  const limits = ["--timeout=100", "--seed=2147483647", "--secret=s", "--effects=https://a/"];
  const headers = ["--header", "X-A: b: c", "--header=X-B:"];
  expect(checked([...flags, ...limits, ...headers, "--skip=c", url])).toEqual({
    ...{ ...defaults, ...reports, secret: "s", effects: { url: "https://a/" }, skip: ["c"] },
    ...{ timeoutMs: 100, seed: 2_147_483_647, headers: { "X-A": "b: c", "X-B": "" } },
  });
  expect(checked(["--timeout", "600000", "--seed", "0", url])).toMatchObject({
    timeoutMs: 600_000,
    seed: 0,
  });
});

test.each([
  [[], "hookyard check needs the URL of a receiver. hookyard check --help says more."],
  [["a", "b"], "hookyard check takes one URL."],
  [
    ["a", "--effects", "http://b/", "--effects-command", "c"],
    "--effects and --effects-command say the same: give one of them.",
  ],
  [["a", "--effects", "ftp://b/"], "--effects needs a full http or https URL."],
  [["a", "--timeout", "99"], "--timeout needs milliseconds from 100 to 600000."],
  [["a", "--timeout", "600001"], "--timeout needs milliseconds from 100 to 600000."],
  [["a", "--seed=-1"], "--seed needs a whole number below 2147483648."],
  [["a", "--seed", "2147483648"], "--seed needs a whole number below 2147483648."],
  [["a", "--header", "X-A b"], '--header needs "Name: value", not "X-A b".'],
  [["a", "--header", "X-A: \n"], '--header needs "Name: value", not "X-A: \\n".'],
])("check refuses %j", (args, wrong) => {
  expect(checked(args)).toEqual({ wrong });
});

test("the help has the flags in a column, and wraps what is longer than a line", () => {
  const words = (count: number): string => Array.from({ length: count }, () => "word").join(" ");
  const all = {
    ...command,
    summary: "Runs.",
    flags: {
      seed: { value: "N", text: `A seed, ${words(20)}.`, default: "1" },
      "a-flag-with-a-long-name": { value: "FILE", text: "A file." },
    },
    exits: { 0: "when all passed", 2: "when a flag is wrong" },
  };
  expect(helpOf(all).split("\n")).toEqual([
    "Usage: hookyard run FILE [flags]",
    "",
    "Runs.",
    "",
    `  --seed N                    A seed, ${words(12)}`,
    `                              ${words(7)} word. Default: 1.`,
    "  --a-flag-with-a-long-name FILE",
    "                              A file.",
    "  --help                      This text.",
    "",
    "Exit code: 0 when all passed, 2 when a flag is wrong.",
  ]);
  // A line has a hundred characters at most.
  const [whole, long] = [
    `${"a".repeat(49)} ${"b".repeat(50)}`,
    `${"c".repeat(49)} ${"d".repeat(51)}`,
  ];
  const { operands: _, ...alone } = { ...all, about: `${whole} ${long}`, flags: {} };
  expect(helpOf(alone).split("\n")).toEqual([
    ...["Usage: hookyard run [flags]", "", whole, ...long.split(" "), ""],
    ...["  --help  This text.", ""],
    "Exit code: 0 when all passed, 2 when a flag is wrong.",
  ]);
});
