/**
 * `hookyard run`: each exit code, its pipes and its signals as a process of its own, the way a CI
 * job runs it, and the rest in this process.
 */

import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { parse } from "yaml";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { lastingPort } from "../support/free-ports.ts";
import type { ScenarioReport } from "../../src/contract/scenarios.ts";
import { shareApi } from "../../src/share/share-file.ts";
import { readXml, wrongWithJunit } from "./junit-schema.ts";
import { runHookyard, startHookyard } from "./run-hookyard.ts";
import { runInProcess } from "../support/in-process.ts";
import { programInShell } from "../support/program.ts";

const before = process.cwd();
let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "hookyard-run-"));
  process.chdir(directory);
});
afterEach(async () => {
  process.chdir(before);
  await rm(directory, { recursive: true, force: true });
});

const runAsProcess = (...args: string[]) => runHookyard(["run", ...args], { cwd: directory });
const run = (...args: string[]) => runInProcess(["run", ...args]);

async function write(files: Record<string, string>): Promise<void> {
  for (const [name, text] of Object.entries(files)) await writeFile(join(directory, name), text);
}

const passing = `name: It arrives
endpoints: { Receiver: [{ status: 200 }] }
destinations: { Receiver: { webhooks: [{ endpoint: Receiver }] } }
steps:
  - send: { type: track, event: "<Order & Co>", userId: u_1 }
  - expect: { deliveries: { state: delivered } }
`;

const batched = `name: A batch of a mapping
endpoints:
  Receiver:
    - { do: answer, status: 503 }
    - { do: answer, status: 200 }
destinations:
  Orders:
    sharedSecret: s3cret
    mappings:
      - endpoint: Receiver
        trigger: type = "track" and event = "Order Completed"
        data: { total: { "@path": $.properties.total } }
        batch: { size: 10, wait: 5s }
steps:
  - send:
      - { type: track, userId: u_1, event: Order Completed, properties: { total: 1 } }
      - { type: track, userId: u_1, event: Viewed }
      - { type: track, userId: u_2, event: Order Completed, properties: { total: 2 } }
  - expect:
      messages: { of: { event: Order Completed }, state: waiting }
  - advance: idle
  - expect:
      messages: { of: { event: Order Completed }, state: delivered }
  - expect:
      messages: { of: { event: Viewed }, state: filtered }
`;

const failing = `name: It does not arrive
endpoints: { Receiver: [{ status: 503, times: 2 }, { do: hang }] }
destinations: { Receiver: { webhooks: [{ endpoint: Receiver }] } }
settings: { jitter: false }
steps:
  - send: { type: track, event: Order Completed, userId: u_1 }
  - advance: 40s
  - name: By now it should be there
    expect:
      - deliveries: { state: delivered }
      - attempts: { results: [503, 200] }
      - requests: { of: { userId: u_2 } }
  - expect: { deliveries: { state: waiting } }
`;

const broken = `name: It cannot go on
steps:
  - retry: { state: failed }
  - advance: 1h
`;

test("a destination with mappings delivers a batch on the scenario's clock", async () => {
  await write({ "batch.yaml": batched });
  const { code, out } = await run("batch.yaml");
  expect(out).toMatch(/00:00:16 +advance idle +2 attempts/);
  expect(code).toBe(0);
});

describe("hookyard run", () => {
  test("prints each step, and ends with 0 when every expectation was met", async () => {
    await write({ "a.yaml": passing });
    const { code, out, err } = await runAsProcess("a.yaml");
    expect(out.split("\n").slice(0, 3)).toEqual([
      "✓ It arrives  a.yaml",
      "  ✓ 00:00:00  send track <Order & Co>  1 message in 1 request from Source, answered 200",
      "  ✓ 00:00:00  expect deliveries: state delivered",
    ]);
    expect(out).toMatch(/1 passed {2}1 scenario in \d+\.\d s\n$/);
    expect([code, err]).toEqual([0, ""]);
  });

  test("shows of a failed expectation what was expected, what there is, and the attempts behind it, and ends with 1", async () => {
    await write({ "b.yaml": failing });
    const { code, out } = await runAsProcess("b.yaml");
    expect(code).toBe(1);
    const timeout =
      "timeout after 5s  No complete response within 5 s: timed out before any byte of the response arrived.";
    const attempts = `        00:00:00  round  1  Receiver  503
        00:00:10  round  2  Receiver  503
        00:00:30  round  3  Receiver  ${timeout}`;
    const request = `      track Order Completed · u_1 · message-1, received by Receiver
        this one, not a match of the selection
${attempts}`;
    expect(out.slice(0, out.lastIndexOf("\n\n"))).toBe(`✗ It does not arrive  failed  b.yaml
  ✓ 00:00:00  send track Order Completed  1 message in 1 request from Source, answered 200
  ✓ 00:00:40  advance 40s  2 attempts
  ✗ 00:00:40  By now it should be there: expect deliveries: state delivered
      b.yaml:10:9
      expected  every delivery: state delivered
      actual    1 delivery: state waiting
      track Order Completed · u_1 · message-1 → Receiver
        state waiting, not state delivered
${attempts}
  ✗ 00:00:40  By now it should be there: expect attempts: results [503, 200]
      b.yaml:11:9
      expected  every attempt: results 503, 200
      actual    3 attempts: results 503 x2, timeout
      track Order Completed · u_1 · message-1 → Receiver, Receiver
        results 503 x2, timeout, not results 503, 200
${attempts}
  ✗ 00:00:40  By now it should be there: expect requests of userId u_2
      b.yaml:12:9
      expected  at least one request
      actual    of 3 requests, none was selected
${[request, request, request].join("\n")}
  ✓ 00:00:40  expect deliveries: state waiting`);
  });

  test("runs several files side by side, each in a pipeline of its own, and tells of them in their order", async () => {
    await write({
      "a.yaml": passing,
      "b.yaml": failing,
      "c.yaml": broken,
      "d.yaml": passing,
      "e.yaml": "name: 1\nsteps: []\n",
    });
    const { code, out } = await run("a.yaml", "b.yaml", "c.yaml", "d.yaml", "e.yaml");
    expect(out.match(/^[✓✗] .*$/gm)).toEqual([
      "✓ It arrives  a.yaml",
      "✗ It does not arrive  failed  b.yaml",
      "✗ It cannot go on  failed  c.yaml",
      "✓ It arrives  d.yaml",
      "✗ e.yaml  unusable",
    ]);
    expect(out).toContain(
      "  e.yaml:1:7  name must be a text, but it is 1.\n  e.yaml:2:8  steps must be a list with at least one step, but it is an empty list.\n",
    );
    expect(out).toContain(
      "      c.yaml:3:5  There is no delivery to retry: of 0, none was selected.\n  – 00:00:00  advance 1h\n",
    );
    expect(out).toMatch(/2 passed, 2 failed, 1 unusable {2}5 scenarios in/);
    expect(code).toBe(1);
  });

  test("writes JUnit XML that holds against the schema, whatever is in names and answers", async () => {
    const strange = failing.replace(
      "event: Order Completed",
      'event: "\\u0007 ]]> <b> & \\uD83D \u{1F600}"',
    );
    await write({
      "a.yaml": passing,
      "b.yaml": failing,
      "c.yaml": broken,
      "d.yaml": "name: [\n",
      "e.yaml": strange,
    });
    const { code, out } = await run(
      "a.yaml",
      "b.yaml",
      "c.yaml",
      "d.yaml",
      "e.yaml",
      "--junit",
      "report.xml",
    );
    const xml = await readFile(join(directory, "report.xml"), "utf8");
    expect([code, wrongWithJunit(xml)]).toEqual([1, []]);
    expect(out).toContain("✗ It does not arrive");
    const suites = readXml(xml).children;
    const counts = ["name", "package", "tests", "failures", "errors", "skipped"] as const;
    expect(
      suites.slice(0, 4).map(({ attributes }) => counts.map((key) => attributes.get(key))),
    ).toEqual([
      ["It arrives", "a.yaml", "2", "0", "0", "0"],
      ["It does not arrive", "b.yaml", "4", "1", "0", "0"],
      ["It cannot go on", "c.yaml", "2", "0", "1", "1"],
      ["d.yaml", "d.yaml", "1", "0", "1", "0"],
    ]);
    for (const { attributes, children } of suites.slice(0, 3)) {
      const times = children
        .filter(({ name }) => name === "testcase")
        .map((one) => Number(one.attributes.get("time")));
      const sum = times.reduce((all, time) => all + time);
      expect(sum).toBeGreaterThan(0);
      expect(sum).toBeLessThan(Number(attributes.get("time")) + 0.01);
    }
    const failure = suites[1]?.children
      .flatMap(({ children }) => children)
      .find(({ name }) => name === "failure");
    expect(failure?.attributes.get("message")).toContain(
      "deliveries: state delivered: expected every delivery: state delivered, actual 1 delivery: state waiting",
    );
    expect(failure?.text).toContain("00:00:10  round  2  Receiver  503");
  });

  test("prints with --json one document, and nothing else on standard output", async () => {
    await write({ "a.yaml": passing, "b.yaml": failing });
    const { code, out, err } = await runAsProcess("--json", "--seed", "42", "a.yaml", "b.yaml");
    const { scenarios } = JSON.parse(out) as { scenarios: ScenarioReport[] };
    expect([code, err]).toEqual([1, ""]);
    expect(scenarios.map(({ file, state, seed }) => [file, state, seed])).toEqual([
      ["a.yaml", "passed", 42],
      ["b.yaml", "failed", 42],
    ]);
    expect(scenarios[1]?.steps[2]?.expectations[0]).toMatchObject({
      passed: false,
      expected: "every delivery: state delivered",
      actual: "1 delivery: state waiting",
      differences: [
        {
          attempts: [
            { elapsedMs: 0, result: "503" },
            { elapsedMs: 10_000 },
            { elapsedMs: 30_000, result: "timeout", heldMs: 5000 },
          ],
        },
      ],
    });
  });

  test("finds a receiver that was not started, before anything is sent", async () => {
    const port = await lastingPort();
    const url = `http://127.0.0.1:${port}/hook`;
    await write({
      "f.yaml": `name: F\ndestinations:\n  D:\n    webhooks:\n      - url: ${url}\nsteps:\n  - send: { type: identify, userId: u }\n`,
    });
    const { code, out } = await run("f.yaml");
    expect(out).toContain(
      `  f.yaml:5:14  Nothing listens at 127.0.0.1:${port}. Start the receiver first, or write mayBeDown: true beside the url.\n`,
    );
    expect(code).toBe(1);
  });

  test.each([
    [["missing.yaml"], 1, "missing.yaml:1:1  The file was not found.", ""],
    [["."], 1, ".:1:1  This is a directory. Name the files in it.", ""],
    [[], 2, "", "hookyard run needs at least one scenario file."],
    [["a.yaml", "--sede", "1"], 2, "", "Unknown option '--sede'"],
    [["a.yaml", "--seed", "x"], 2, "", "--seed needs a whole number."],
    [["a.yaml", "a.yaml"], 2, "", "a.yaml appears twice."],
    [["--help"], 0, "Usage: hookyard run FILE…", ""],
  ])("answers %j with %i", async (args, wanted, output, error) => {
    const { code, out, err } = await run(...args);
    expect(out).toContain(output);
    expect(err).toContain(error);
    expect(code).toBe(wanted);
  });

  test("ends with 0 when the report is written, in a folder that it makes, and every expectation was met", async () => {
    await write({ "a.yaml": passing });
    const report = join("reports", "ci", "report.xml");
    expect(await run("a.yaml", "--junit", report)).toMatchObject({ code: 0, err: "" });
    expect(await readFile(join(directory, report), "utf8")).toContain("<testsuites");
  });

  test("says that the report cannot be written, and ends with 1", async () => {
    await write({ "a.yaml": passing });
    const { code, out, err } = await run("a.yaml", "--junit", "a.yaml/report.xml");
    expect(out).toContain("1 passed");
    expect(err).toMatch(/^a\.yaml\/report\.xml cannot be written: E.*\n$/);
    expect(code).toBe(1);
  });

  test("says why a file cannot be read", async () => {
    const { code, out } = await run(`${"x".repeat(300)}.yaml`);
    expect(out).toContain("1:1  The file cannot be read: ENAMETOOLONG");
    expect(code).toBe(1);
    await writeFile("utf16.yaml", `\ufeff${passing}`, "utf16le");
    await writeFile("latin1.yaml", passing.replace("It", "\u00e9"), "latin1");
    for (const file of ["utf16.yaml", "latin1.yaml"])
      expect((await run(file)).out).toContain(
        `${file}:1:1  The file is not UTF-8. Save it in that encoding.`,
      );
  });

  test("keeps the first pipeline with --keep, and serves its inspector until a signal comes", async () => {
    await write({ "a.yaml": passing });
    const kept = startHookyard(["run", "a.yaml", "--keep"], { cwd: directory });
    const address = /(http:\/\/\S+)\/#token=(\S+)/.exec(await kept.errSays(/#token=\S+\n/));
    const response = await fetch(`${address?.[1]}/api/messages`, {
      headers: { Authorization: `Bearer ${address?.[2]}` },
    });
    expect(await response.json()).toMatchObject({
      total: 1,
      items: [{ userId: "u_1", state: "delivered" }],
    });
    kept.end();
    expect(await kept.ended).toMatchObject({ code: 0 });
  });
});

describe("in GitHub Actions", () => {
  const inActions = (summary: string): Record<string, string> => ({
    GITHUB_ACTIONS: "true",
    GITHUB_WORKSPACE: directory,
    GITHUB_STEP_SUMMARY: join(directory, summary),
  });
  const hostile = `name: "It says ::error::x, | <b>\\nand more"
endpoints: { Receiver: [{ status: 400, body: "x" }] }
destinations: { Receiver: { webhooks: [{ endpoint: Receiver }] } }
steps:
  - send: { type: track, event: "::set-env name=A::b", userId: u_1 }
  - expect:
      - { deliveries: { state: delivered } }
`;

  test("a failed expectation and a mistake are annotations at their lines, and the summary has both", async () => {
    await write({
      "b.yaml": failing,
      "c.yaml": "name: A\nstep: []\n",
      "d.yaml": broken,
      "e.yaml": hostile,
    });
    const { code, out } = await runHookyard(["run", "b.yaml", "c.yaml", "d.yaml", "e.yaml"], {
      cwd: directory,
      env: inActions("summary.md"),
    });
    expect(code).toBe(1);
    const lines = out.split("\n");
    const [, stop = ""] = /^::stop-commands::(\S+)$/.exec(lines[0] ?? "") ?? [];
    const from = lines.indexOf(`::${stop}::`);
    expect(from).toBeGreaterThan(20);
    const found = lines
      .slice(from + 1)
      .map((line) => /^::error (.*?)::(.*)$/.exec(line)?.slice(1) ?? [line]);
    expect(found.map(([place]) => place)).toEqual([
      "file=b.yaml,line=10,col=9,title=It does not arrive",
      "file=b.yaml,line=11,col=9,title=It does not arrive",
      "file=b.yaml,line=12,col=9,title=It does not arrive",
      "file=c.yaml,line=1,col=1,title=c.yaml",
      "file=c.yaml,line=2,col=1,title=c.yaml",
      "file=d.yaml,line=3,col=5,title=It cannot go on",
      "file=e.yaml,line=7,col=11,title=It says %3A%3Aerror%3A%3Ax%2C | <b>\\u000aand more",
      "",
    ]);
    expect(failing.split("\n")[9]).toContain("- deliveries: { state: delivered }");
    expect(found[0]?.[1]).toMatch(
      /^expect deliveries: state delivered%0Aexpected {2}every delivery/,
    );
    const summary = await readFile(join(directory, "summary.md"), "utf8");
    expect(summary).toMatch(/^### Hookyard: 0 of 4 scenarios passed\n/);
    expect(summary).toContain("<p>line 10</p>\n<pre>expect deliveries: state delivered\n");
    expect(summary).toContain(
      "| It says ::error::x, &#124; &#60;b&#62;&#92;u000aand more | e.yaml |",
    );
  });

  test("with --json, standard output stays one document", async () => {
    await write({ "a.yaml": passing, "b.yaml": failing });
    const env = inActions("summary.md");
    const args = ["run", "a.yaml", "b.yaml", "--json"];
    const { out, err } = await runInProcess(args, { env });
    expect(JSON.parse(out)).toMatchObject({
      scenarios: [{ state: "passed" }, { state: "failed" }],
    });
    expect(err).toMatch(/^::error file=b\.yaml,line=10,/);
  });

  test("the action runs the files of its input with the program of the project", async () => {
    await write({ "a.yaml": passing, "b.yaml": failing });
    const action = parse(
      await readFile(new URL("../../resources/action/action.yml", import.meta.url), "utf8"),
    ) as { runs: { steps: { run: string; shell: string; env: Record<string, string> }[] } };
    const [step] = action.runs.steps;
    await writeFile(
      join(directory, "npx"),
      `#!/bin/sh\n[ "$1 $2" = "--no-install hookyard" ] || exit 9\nshift 2\nexec ${programInShell} "$@"\n`,
      { mode: 0o755 },
    );
    expect(Object.values(step?.env ?? {})).toEqual(["${{ inputs.files }}", "${{ inputs.junit }}"]);
    const env = { ...inActions("summary.md"), FILES: "*.yaml", HOOKYARD_JUNIT: "r.xml" };
    const result = await promisify(execFile)("bash", ["-e", "-c", step?.run ?? ""], {
      cwd: directory,
      env: { ...process.env, ...env, PATH: `${directory}:${process.env["PATH"]}` },
    }).catch((error: { code: number; stdout: string }) => error);
    expect(result).toMatchObject({
      code: 1,
      stdout: expect.stringContaining("::error file=b.yaml,line=10,"),
    });
    expect(await readFile(join(directory, "r.xml"), "utf8")).toContain("<testsuites");
  });
});

test("--share writes the messages of the first scenario that fails, in place of those of an earlier run", async () => {
  await write({ "a.yaml": passing, "b.yaml": failing, "c.yaml": "name: [\n" });
  const share = (...files: string[]) => run(...files, "--share", "failure.hookyard");
  const read = async () =>
    shareApi(await readFile(join(directory, "failure.hookyard"))) as ReturnType<typeof shareApi> & {
      call(name: string, input: unknown): Promise<{ body: unknown }>;
    };
  expect(await share("a.yaml", "c.yaml")).toMatchObject({ code: 1, err: "" });
  await expect(read()).rejects.toThrow("ENOENT");

  const failed = await share("a.yaml", "b.yaml");
  expect(failed).toMatchObject({
    code: 1,
    err: expect.stringMatching(/^failure\.hookyard: 1 message, [\d,]+ bytes\.\n$/),
  });
  const api = await read();
  expect((await api.call("messages.list", {})).body).toMatchObject({
    total: 1,
    items: [{ event: "Order Completed", userId: "u_1", state: "waiting", attempts: 3 }],
  });
  expect((await api.call("endpoints.list", {})).body).toMatchObject({
    items: [{ name: "Receiver" }],
  });
  await write({ "b.yaml": failing.replace("event: Order Completed", "event: Changed") });
  expect((await share("b.yaml")).code).toBe(1);
  expect((await (await read()).call("messages.list", {})).body).toMatchObject({
    items: [{ event: "Changed" }],
  });

  const page = await run("b.yaml", "--share", "failure.html");
  expect(page.err).toMatch(/^failure\.html: 1 message,/);
  expect(await readFile(join(directory, "failure.html"), "utf8")).toContain("<!doctype html>");
  const wrong = await run("b.yaml", "--share", "missing/failure.hookyard");
  expect(wrong).toMatchObject({ code: 1, err: expect.stringMatching(/cannot be written: ENOENT/) });
  expect(wrong.out).toContain("1 failed");
  expect(await run("b.yaml", "--share", "failure.zip")).toMatchObject({ code: 2 });
});

test("--watch runs a file again when it has changed, and ends with Ctrl+C", async () => {
  await write({ "a.yaml": passing, "b.yaml": failing });
  const files = ["a.yaml", "b.yaml", "--junit", "r.xml"];
  const watching = startHookyard(["run", "--watch", ...files], { cwd: directory });
  const failures = async () => (await readFile("r.xml", "utf8")).match(/(?<=failures=)"."/g);
  await watching.errSays(/Waiting for changes/);
  expect(watching.said()).toMatch(/1 passed, 1 failed {2}2 scenarios/);
  await write({ "b.yaml": passing });
  await expect.poll(watching.said).toMatch(/1 passed {2}1 scenario in \d+\.\d s\n$/);
  await expect.poll(failures).toEqual(['"0"', '"0"']);
  watching.end();
  expect((await watching.ended).code).toBe(0);
});

test("--watch runs a file again that changed during the first run", async () => {
  const changing = "name: A\nsteps:\n  - command: cp next.yaml a.yaml\n";
  await write({ "a.yaml": changing, "next.yaml": passing });
  const watching = startHookyard(["run", "a.yaml", "--watch"], { cwd: directory });
  await expect.poll(watching.said).toMatch(/1 passed[^]*1 passed/);
  watching.end();
  expect((await watching.ended).code).toBe(0);
});

test("--watch goes on when the directory is deleted and made again", async () => {
  const folder = join(directory, "cases");
  const save = async (text: string): Promise<void> => {
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, "a.yaml"), text);
  };
  await save(failing);
  const watching = startHookyard(["run", "cases/a.yaml", "--watch"], { cwd: directory });
  await watching.errSays(/Waiting for changes/);
  await rm(folder, { recursive: true });
  await expect.poll(watching.said).toMatch(/The file was not found[^]*1 unusable/);
  await save(passing);
  await expect.poll(watching.said).toMatch(/1 unusable[^]*1 passed/);
  await save(failing);
  await expect.poll(watching.said).toMatch(/1 passed[^]*1 failed/);
  watching.end();
  expect((await watching.ended).code).toBe(0);
});

test("--watch ends when there is nothing to watch", async () => {
  const { code, err } = await runHookyard(["run", "none/a.yaml", "--watch"], { cwd: directory });
  expect([code, err]).toEqual([1, "There is no directory to watch.\n"]);
});
