/**
 * `hookyard/testing` and `hookyard/client` as they are published: built, in somebody's
 * `node_modules`, for `import`, for `require` and for their compiler.
 */

import { execFile, execFileSync } from "node:child_process";
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { bundleTesting, emitClient, root } from "../../src/launch/build.ts";
import { isBuilt } from "../support/program.ts";

const project = mkdtempSync(join(tmpdir(), "hookyard-package-"));
const installed = join(project, "node_modules");
const compiler = join(root, "node_modules", "typescript", "bin", "tsc");

beforeAll(async () => {
  const out = join(installed, "hookyard", "out");
  // The build makes them with the same functions.
  if (isBuilt)
    for (const name of ["testing", "client"])
      cpSync(join(root, "out", name), join(out, name), { recursive: true });
  else await Promise.all([bundleTesting(join(out, "testing")), emitClient(join(out, "client"))]);
  copyFileSync(join(root, "package.json"), join(installed, "hookyard", "package.json"));
  mkdirSync(join(installed, "@types"));
  for (const name of ["better-sqlite3", "zod", "@types/node"])
    symlinkSync(join(root, "node_modules", name), join(installed, name));
});
afterAll(() => rmSync(project, { recursive: true, force: true }));

const body = `
async function main() {
  const hookyard = await start({ endpoints: { Receiver: [{ status: 503 }, { status: 200 }] }, destinations: { Receiver: { webhooks: [{ endpoint: "Receiver" }] } } });
  await hookyard.send({ type: "track", event: "Signed Up", userId: "u_1" });
  await hookyard.advance("idle");
  await hookyard.expect({ attempts: { results: [503, 200] } });
  const { version } = await hookyard.call("about.get", {});
  await hookyard.stop();
  process.stdout.write("done " + version + "\\n");
}
`;

const holding = `
async function hold() {
  const hookyard = await start({
    settings: { laneConnections: 2 },
    endpoints: { Receiver: [{ status: 200 }], Held: [{ do: "forward", to: "Receiver", hold: 2 }] },
    destinations: { Receiver: { webhooks: [{ endpoint: "Held" }] } },
  });
  await hookyard.send([{ type: "track", event: "A", userId: "u_1" }, { type: "track", event: "B", userId: "u_1" }]);
  await hookyard.expect({ deliveries: { count: 2, state: "delivered" } });
  await hookyard.stop();
}
`;

function run(args: string[], node = process.execPath): Promise<{ code: number; out: string }> {
  return new Promise((resolve) => {
    execFile(node, args, { cwd: project }, (error, out, err) =>
      resolve({ code: error === null ? 0 : 1, out: out + err }),
    );
  });
}

describe("the built library for tests", () => {
  test.each([
    ["test.mjs", `import { start } from "hookyard/testing"; import timers from "node:timers";`],
    ["test.cjs", `const { start } = require("hookyard/testing"), timers = require("node:timers");`],
  ])(
    "works in %s, and keeps the machine's time and network where a test replaces them",
    async (file, text) => {
      // As fake timers do it, and a stub of `fetch`.
      const replaced = `
const names = ["setTimeout", "setInterval", "setImmediate"];
const real = { Date, queueMicrotask, fetch, ...Object.fromEntries(names.map((name) => [name, globalThis[name]])) };
for (const name of names) timers[name] = globalThis[name] = () => 0;
globalThis.Date = class extends Date { constructor(...at) { super(...(at.length > 0 ? at : [0])); } static now() { return 0; } };
globalThis.queueMicrotask = () => {};
globalThis.fetch = () => { throw new Error("no network"); };
function restore() {
  Object.assign(globalThis, real);
  for (const name of names) timers[name] = real[name];
}
`;
      const program = `${text}${replaced}${holding}${body}hold().then(main).then(restore).then(main);`;
      writeFileSync(join(project, file), program);
      expect(await run([file])).toEqual({
        code: 0,
        out: expect.stringMatching(/^(done \d+\.\d+\.\d+\n){2}$/),
      });
    },
  );

  test("brings types that know every member, for import and for require", async () => {
    const options = {
      strict: true,
      // Other than `nodenext`, it lets no CommonJS module import the types of an ES module.
      module: "node16",
      target: "es2024",
      lib: ["es2024"],
      types: ["node"],
      noEmit: true,
    };
    writeFileSync(
      join(project, "tsconfig.json"),
      JSON.stringify({ compilerOptions: options, include: ["*.mts", "*.cts"] }),
    );
    writeFileSync(
      join(project, "good.mts"),
      `import { start, type Hookyard } from "hookyard/testing";
const hookyard: Hookyard = await start({ sources: { Shop: { mode: "production" } } });
await hookyard.send([{ type: "identify", userId: "u", traits: { plan: "pro" } }], { from: "Shop", resend: 1 });
await hookyard.expect([{ deliveries: { of: { state: ["waiting", "failed"] }, never: true, within: "4h" } }]);
const total: number = (await hookyard.call("messages.list", { limit: 1 })).total;
await hookyard.advance(total > 0 ? "idle" : "90m");
`,
    );
    writeFileSync(
      join(project, "good.cts"),
      `import { start, type Hookyard } from "hookyard/testing";
export const begin = (): Promise<Hookyard> => start({ sources: { Shop: { mode: "production" } } });
`,
    );
    writeFileSync(
      join(project, "bad.mts"),
      `import { start } from "hookyard/testing";
const hookyard = await start({ destination: {} });
await hookyard.expect({ deliveries: { stat: "delivered" } });
`,
    );
    const { code, out } = await run([compiler, "-p", ".", "--pretty", "false", "--checkers", "1"]);
    expect(code).toBe(1);
    const errors = out.split("\n").filter((line) => /^\S/.test(line));
    expect(errors).toEqual([
      expect.stringMatching(/^bad\.mts\b.*'destination' does not exist/),
      expect.stringMatching(/^bad\.mts\b.*'stat' does not exist/),
    ]);
  });
});

test("the published package has each file of its types that older compilers look for", () => {
  // For `moduleResolution: node10`, which does not read `exports`.
  const { typesVersions } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
    typesVersions: { "*": Record<string, string[]> };
  };
  for (const file of Object.values(typesVersions["*"]).flat())
    expect(existsSync(join(installed, "hookyard", file)), file).toBe(true);
});

test("the built client library sends from a plain program, and its types are there", async () => {
  writeFileSync(
    join(project, "client.mjs"),
    `import { createServer } from "node:http";
import { Analytics } from "hookyard/client";
const server = createServer(async (request, response) => {
  let body = "";
  for await (const chunk of request.setEncoding("utf8")) body += chunk;
  process.stdout.write(request.url + " " + JSON.parse(body).batch.map(({ type, event }) => type + " " + event).join());
  response.end("{}");
}).listen(0, "127.0.0.1", async () => {
  const analytics = new Analytics("wk", { endpoint: "http://127.0.0.1:" + server.address().port });
  analytics.track({ userId: "u", event: "Signed Up" });
  await analytics.close();
  server.close();
});
`,
  );
  expect(await run(["client.mjs"])).toEqual({ code: 0, out: "/v1/batch track Signed Up" });
  expect(existsSync(join(installed, "hookyard", "out", "client", "client.d.ts"))).toBe(true);
});

/** The first `node` of the path that is too old. */
const olderNode = (process.env["PATH"] ?? "")
  .split(delimiter)
  .map((folder) => join(folder, process.platform === "win32" ? "node.exe" : "node"))
  .find((file) => existsSync(file) && majorOf(file) < 24);
if (olderNode === undefined)
  console.log("The client is not tried on an older Node, because none is installed here.");

test.skipIf(olderNode === undefined).each([
  ["old-testing.mjs", 'import "hookyard/testing";'],
  ["old-testing.cjs", 'require("hookyard/testing");'],
])("the library for tests says in %s that an older Node cannot run it", async (file, text) => {
  writeFileSync(join(project, file), text);
  const { code, out } = await run([file], olderNode);
  expect(code).toBe(1);
  expect(out).toMatch(
    /\nError: hookyard\/testing needs Node 24 or newer; this is \d+\.\d+\.\d+\.\n/,
  );
});

test.skipIf(olderNode === undefined)(
  "the client says that an older Node cannot run it",
  async () => {
    writeFileSync(join(project, "old.mjs"), `import "hookyard/client";`);
    const { code, out } = await run(["old.mjs"], olderNode);
    expect(code).toBe(1);
    expect(out).toMatch(
      /\nError: hookyard\/client needs Node 24 or newer; this is \d+\.\d+\.\d+\.\n/,
    );
  },
);

function majorOf(node: string): number {
  return Number.parseInt(execFileSync(node, ["--print", "process.versions.node"]).toString(), 10);
}
