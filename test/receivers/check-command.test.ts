/**
 * `hookyard check` from outside: exit codes, reports, scenarios that show a failure again, and
 * receivers that cannot be checked.
 */

import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { runCheck } from "../../src/check/run-check.ts";
import { runHookyard } from "../scenarios/run-hookyard.ts";
import { runInProcess } from "../support/in-process.ts";
import { nodeInShell, program } from "../support/program.ts";
import { startRawReceiver } from "../support/raw-receiver.ts";
import { receivers, startReceiver, type RunningReceiver } from "./receivers.ts";
import type { CheckReport } from "../../src/check/outcome.ts";

async function started(name: string): Promise<RunningReceiver> {
  const entry = receivers.find((one) => one.name === name);
  if (entry === undefined) throw new Error(`There is no receiver ${name}.`);
  const there = await startReceiver(entry);
  onTestFinished(() => there.stop());
  return there;
}

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), "hookyard-check-"));
  onTestFinished(() => rmSync(path, { recursive: true }));
  return path;
}

async function listening(handler: RequestListener): Promise<string> {
  const server = createServer(handler);
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/hooks`;
}

async function answersOf(
  url: string,
  headers: Record<string, string> = {},
): Promise<CheckReport["checks"][number]> {
  const report = await runCheck({
    url,
    headers,
    only: ["answers"],
    skip: ["in-time"],
    secret: "s3cret",
  });
  const [answers] = report.checks;
  if (answers === undefined) throw new Error("There is no result.");
  return answers;
}

describe("the command", () => {
  test("ends with 1 for a wrong receiver, and its reports hold the proof but not the secret", async () => {
    const there = await started("node: signature-prefix");
    const into = folder();
    const file = (name: string): string => join(into, name);
    const { code, out, err } = await runHookyard(
      [
        ...[
          "check",
          there.url,
          "--effects",
          there.effectsUrl,
          "--only",
          "signature-truncated,signature-wrong,get",
        ],
        ...[
          "--json",
          file("report.json"),
          "--junit",
          file("reports/report.xml"),
          "--html",
          file("report.html"),
          "--scenarios",
          file("scenarios"),
        ],
      ],
      { env: { HOOKYARD_SECRET: there.secret } },
    );
    expect(err).toBe("");
    expect(code).toBe(1);
    expect(out).toMatch(/✗ fail {4}signature-truncated/);
    expect(out).toMatch(/✓ pass {4}signature-wrong/);
    const report = JSON.parse(readFileSync(file("report.json"), "utf8")) as CheckReport;
    expect(report).toMatchObject({ url: there.url, verdict: "fail", score: 80 });
    const failed = report.checks.find(({ id }) => id === "signature-truncated");
    expect(failed?.requests[0]).toMatchObject({
      status: expect.any(Number),
      sentAs: "signature truncated",
    });
    expect(failed?.requests[0]?.head).toMatch(
      /^POST \/hooks HTTP\/1.1\r\n[^]*X-Signature: [0-9a-f]{8}\r\n/,
    );
    expect(readFileSync(file("reports/report.xml"), "utf8")).toMatch(
      /<failure message="The receiver answered 2\d\d to a message with the beginning of the right signature/,
    );
    const page = readFileSync(file("report.html"), "utf8");
    expect(page).toContain("default-src 'none'");
    expect(page).toContain("timingSafeEqual");
    expect(readdirSync(file("scenarios"))).toEqual(["signature-truncated.yaml"]);
    for (const name of [
      "report.json",
      "reports/report.xml",
      "report.html",
      "scenarios/signature-truncated.yaml",
    ])
      expect(readFileSync(file(name), "utf8")).not.toContain(there.secret);
  });

  test("ends with 0 for a right receiver, and takes effects from a command", async () => {
    const there = await started("node: keep-alive");
    const ask = `${nodeInShell} -e "fetch('${there.effectsUrl}').then(async (a) => console.log(await a.text()))"`;
    const { code, out } = await runInProcess([
      "check",
      there.url,
      "--secret",
      there.secret,
      "--effects-command",
      ask,
      "--only",
      "duplicate",
      "--seed",
      "7",
    ]);
    expect(out).toMatch(/✓ pass {4}duplicate/);
    expect(out).toMatch(/3 passed {2}score 100 of 100, .* seed 7/);
    expect(code).toBe(0);
  });

  test("shows no credentials of a URL", async () => {
    let status = 404;
    const url = await listening((_request, response) => response.writeHead(status).end());
    const address = `${url.replace("//", "//user:p4ss@")}?token=t0ken`;
    const { code, out } = await runInProcess([
      "check",
      address,
      "--only",
      "answers",
      "--json",
      "-",
    ]);
    expect(code).toBe(1);
    expect(JSON.parse(out)).toMatchObject({
      checks: [
        {
          requests: [{ head: expect.stringContaining("tion: left-out\r\nUser") }],
          scenario: expect.stringContaining("# The credentials of the URL are left out"),
        },
        {},
      ],
    });
    status = 204;
    const printed = await runInProcess(["check", address, "--only", "answers"]);
    expect(printed.out).toMatch(/^http:\/\/left-out:left-out@127[^]*token=left-out\n/);
    expect(out + printed.out).not.toMatch(/p4ss|t0ken|dXNlcjpwNHNz/);
  });

  test("ends with 2 when a report cannot be written", async () => {
    const { url, secret } = await started("node: keep-alive");
    for (const flag of ["--json", "--junit", "--html", "--scenarios"]) {
      const args = ["check", url, "--only", "answers", flag, join(program, "report")];
      const { code, err } = await runInProcess(args, { env: { HOOKYARD_SECRET: secret } });
      expect(err).toMatch(/^.+report cannot be written: (?:ENOTDIR|EEXIST)/);
      expect(code).toBe(2);
    }
  });

  test.each([
    [["check"], /needs the URL of a receiver/],
    [
      ["check", "ftp://user:p4ss@there/"],
      /^ftp:\/\/left-out:left-out@there\/ is not a full http or https URL/,
    ],
    [["check", "http://127.0.0.1:1/", "--only", "signatures"], /No check is called signatures/],
    [["check", "http://127.0.0.1:1/", "--header", "nonsense"], /--header needs "Name: value"/],
    [
      ["check", "http://127.0.0.1:1/", "--effects", "http://127.0.0.1:1/effects"],
      /cannot be asked for effects/,
    ],
    [["check", "http://127.0.0.1:1/", "--timeout", "1"], /--timeout needs milliseconds/],
  ])("%j ends with 2", async (args, message) => {
    const { code, err } = await runInProcess(args);
    expect(err).toMatch(message);
    expect(code).toBe(2);
  });
});

describe("a failed check as a scenario", () => {
  test.each([
    ["node: signature-prefix", "signature-truncated"],
    ["node: signature-cache", "signature-of-other-body"],
    ["node: body-limit", "big"],
    ["node: unknown-type-crash", "unknown-type"],
    ["node: second-request-reset", "keep-alive"],
    ["node: connection-limit", "many-connections"],
    ["node: duplicate-race", "duplicate-together"],
    ["node: marks-after-answer", "retry-after-lost-answer"],
  ])("%s fails %s again, and a right receiver passes it", async (name, id) => {
    const into = folder();
    const wrong = await started(name);
    const right = await started("node: keep-alive");
    const args = [
      "check",
      wrong.url,
      "--effects",
      wrong.effectsUrl,
      "--only",
      id,
      "--scenarios",
      into,
    ];
    const env = { HOOKYARD_SECRET: wrong.secret };
    expect((await runInProcess(args, { env })).code).toBe(1);
    const file = join(into, `${id}.yaml`);
    const again = await runInProcess(["run", file], { env });
    expect(again.out).not.toContain("unusable");
    expect(again.code).toBe(1);
    const [from, to] = [new URL(wrong.url).host, new URL(right.url).host];
    writeFileSync(file, readFileSync(file, "utf8").replaceAll(from, to));
    const mended = await runInProcess(["run", file], { env });
    expect(mended.out).toMatch(/1 passed/);
    expect(mended.code).toBe(0);
  });
});

describe("a receiver that cannot be checked gets a sentence that says why:", () => {
  test("nothing listens", async () => {
    const { verdict, detail } = await answersOf("http://127.0.0.1:1/hooks");
    expect(verdict).toBe("fail");
    expect(detail).toBe("Nothing listens at 127.0.0.1:1: the connection was refused.");
  });

  test("a web page", async () => {
    const url = await listening((_request, response) =>
      response.writeHead(200, { "Content-Type": "text/html" }).end("<title>Shop</title>"),
    );
    expect(await answersOf(url)).toMatchObject({
      verdict: "warn",
      detail: expect.stringMatching(/an HTML page \("Shop"\).*not of a webhook/),
    });
  });

  test("a redirect to a login page", async () => {
    const url = await listening((_request, response) =>
      response.writeHead(302, { Location: "/login?next=/hooks" }).end(),
    );
    expect(await answersOf(url)).toMatchObject({
      verdict: "fail",
      detail: expect.stringMatching(/302, a redirect to \/login.*looks like a login page/),
    });
  });

  test("a header of its own is needed, and given", async () => {
    const url = await listening(({ headers }, response) =>
      response.writeHead(headers["x-api-key"] === "k3y" ? 204 : 403).end(),
    );
    expect(await answersOf(url)).toMatchObject({
      verdict: "fail",
      detail: expect.stringMatching(/with 403.*--header "Name: value"/),
    });
    const answers = await answersOf(url, { "X-Api-Key": "k3y" });
    expect(answers.verdict).toBe("pass");
    expect(JSON.stringify(answers)).not.toContain("k3y");
  });

  test("HTTPS with a self-signed certificate", async () => {
    const certificates = new URL("../support/certificates/", import.meta.url);
    const [key, cert] = ["self-signed-key.pem", "self-signed.pem"].map((name) =>
      readFileSync(new URL(name, certificates)),
    );
    const receiver = await startRawReceiver({ tls: { key, cert } });
    onTestFinished(() => receiver.stop());
    const { verdict, detail } = await answersOf(
      `https://self-signed.localhost:${receiver.port}/hooks`,
    );
    expect(verdict).toBe("fail");
    expect(detail).toMatch(/is self-signed.*NODE_EXTRA_CA_CERTS/);
  });
});
