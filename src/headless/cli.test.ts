import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { isBuilt, program } from "../../test/support/program.ts";

const { version } = JSON.parse(
  readFileSync(new URL("../../package.json", import.meta.url), "utf8"),
) as { version: string };

const hookyard = (...args: string[]) => hookyardOn([], args);

/** The program runs after this code. */
const after = (code: string): string[] => [
  "--import",
  `data:text/javascript,${encodeURIComponent(code)}`,
];

type Ended = { code: number | null; out: string; err: string };

function hookyardOn(
  node: string[],
  args: string[],
  env: NodeJS.ProcessEnv = process.env,
): Promise<Ended> {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [...node, program, ...args], { env });
    let out = "";
    let err = "";
    child.stdout.on("data", (chunk: Buffer) => (out += chunk.toString()));
    child.stderr.on("data", (chunk: Buffer) => (err += chunk.toString()));
    child.on("close", (code) => resolve({ code, out, err }));
  });
}

test.each([
  [["--version"], version],
  [["-v"], version],
  [["--help"], "\n  serve        Runs the pipeline"],
  [["-h"], "serve"],
  [["help"], "serve"],
  [["run", "--help"], "--junit"],
  [["backup", "--help"], "--force"],
  [["doctor", "--help"], "--data"],
  [["serve", "--help"], "--endpoints-tls-port"],
  [["mcp", "--help"], "--data"],
  [["completion", "--help"], "bash"],
  [["share", "--help"], "--secrets"],
  [["a.hookyard", "--help"], "--no-open"],
])("hookyard %j prints and ends", async (args, part) => {
  expect(await hookyard(...args)).toEqual({ code: 0, out: expect.stringContaining(part), err: "" });
});

test.each<[string[], string, number?, Record<string, string>?]>([
  [["--ui-prt", "1"], "--ui-prt"],
  [["dance"], "dance"],
  [["serve", "--ui-port", "x"], "--ui-port"],
  [["completion", "tcsh"], "hookyard completion needs bash, zsh or fish."],
  [["mcp", "--data", ""], "--data needs a directory, or :memory:."],
  [["messages", "--data", ""], "--data needs a directory. hookyard messages --help"],
  [["a.hookyard", "--ui-port", "x"], "--ui-port needs a number from 0 to 65535."],
  [["a.hookyard"], "a.hookyard cannot be read: ENOENT", 1],
  [["mcp", "--data", ":memory:"], "--ui-port needs a number", 1, { HOOKYARD_UI_PORT: "x" }],
  [["mcp", "--data", ":memory:"], "must be an address such as", 3, { HOOKYARD_URL: "x" }],
  [["messages", "--data", ":memory:"], "needs HOOKYARD_TOKEN", 3, { HOOKYARD_URL: "http://a" }],
])("hookyard %j is refused in one line: %s", async (args, part, wanted = 2, env = {}) => {
  const { code, out, err } = await hookyardOn([], args, { ...process.env, ...env });
  expect([code, out]).toEqual([wanted, ""]);
  expect(err).toContain(part);
  expect(err.trimEnd()).not.toContain("\n");
});

test.each([
  [["doctor", "--help"], 0, "The data directory. Default: none on this machine."],
  [["serve"], 2, "This user has no home directory: name one with --data or HOOKYARD_DATA.\n"],
  [["doctor"], 2, "This user has no home directory: name one with --data or HOOKYARD_DATA.\n"],
  [["messages"], 2, "This user has no home directory: name one with --data or HOOKYARD_DATA.\n"],
])("without a home directory, hookyard %j needs one to be named", async (args, wanted, part) => {
  const homeless = after(
    `import os from "node:os"; import { syncBuiltinESMExports } from "node:module";
os.homedir = () => { throw new Error("uv_os_homedir returned ENOENT"); };
syncBuiltinESMExports();`,
  );
  const { XDG_DATA_HOME: _, APPDATA: __, HOOKYARD_DATA: ___, ...env } = process.env;
  const { code, out, err } = await hookyardOn(homeless, args, env);
  expect([code, wanted === 0 ? out : err]).toEqual([wanted, expect.stringContaining(part)]);
  expect(err).not.toContain("    at ");
});

test.each([
  ["22.23.1", { code: 1, out: "", err: "Hookyard needs Node 24 or newer; this is 22.23.1.\n" }],
  ["24.0.0", { code: 0, out: `${version}\n`, err: "" }],
])("on Node %s it says whether that is new enough", async (node, wanted) => {
  const pretend = `Object.defineProperty(process, "versions", { value: { ...process.versions, node: "${node}" } });`;
  expect(await hookyardOn(after(pretend), ["--version"])).toEqual(wanted);
});

test.each([
  ["stdout", ["--help"], 0],
  ["stderr", ["dance"], 2],
] as const)("nobody who reads its %s is no reason to fail", async (stream, args, wanted) => {
  const child = spawn(process.execPath, [program, ...args]);
  child[stream].destroy();
  expect(await new Promise((resolve) => child.on("close", resolve))).toBe(wanted);
});

test.each([
  [true, undefined, true],
  [true, "", true],
  [true, "1", false],
  [false, undefined, false],
  [false, "", false],
])("run has colours: on a terminal %s, with NO_COLOR %j: %s", async (isTTY, colourless, wanted) => {
  const { NO_COLOR: _, ...env } = process.env;
  const terminal = after(`Object.defineProperty(process.stdout, "isTTY", { value: ${isTTY} })`);
  const { out } = await hookyardOn(
    terminal,
    ["run", "none.yaml"],
    colourless === undefined ? env : { ...env, NO_COLOR: colourless },
  );
  expect(out).toContain("The file was not found.");
  expect(out.includes("\u001b[")).toBe(wanted);
});

if (!isBuilt) console.log("Not tested: what the built program loads, because it is not built.");

test.skipIf(!isBuilt)("the built program starts without Node's fetch", async () => {
  const tellModules = `process.on("exit", () => console.log(process.moduleLoadList.join()));`;
  const { out } = await hookyardOn(after(tellModules), ["clock", "--help"]);
  expect(out).toContain("NativeModule http");
  expect(out).not.toContain("undici");
});
