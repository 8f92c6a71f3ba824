/** `docs/check.md`: its two receivers run, and get the findings that the page names. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { expect, onTestFinished, test } from "vitest";
import { checks, runCheck } from "../../src/check/run-check.ts";
import type { CheckReport } from "../../src/check/outcome.ts";

const page = readFileSync(new URL("../../docs/check.md", import.meta.url), "utf8");

async function reportOn(which: "wrong" | "right"): Promise<CheckReport> {
  const [, code = ""] = new RegExp(`\`\`\`js ${which}\n([^]*?)\`\`\``).exec(page) ?? [];
  const folder = mkdtempSync(join(tmpdir(), "hookyard-docs-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, "receiver.mjs"), code);
  const child = spawn(process.execPath, [join(folder, "receiver.mjs")], {
    env: { ...process.env, PORT: "0", SHARED_SECRET: "s3cret" },
    stdio: ["ignore", "pipe", "ignore"],
  });
  onTestFinished(async () => {
    if (child.exitCode !== null) return;
    child.kill();
    await once(child, "close");
  });
  for await (const url of createInterface({ input: child.stdout }))
    return runCheck({ url: `${url}/hooks`, secret: "s3cret", effects: { url: `${url}/orders` } });
  throw new Error("The receiver of the page did not start.");
}

function idsOf({ checks }: CheckReport, verdict: "fail" | "warn"): string[] {
  return checks.filter((one) => one.verdict === verdict).map(({ id }) => id);
}

test("the wrong receiver fails the checks that its table names", async () => {
  const [, table = ""] = /five kinds of mistakes in this receiver:\n([^]*?)\n\n/.exec(page) ?? [];
  const named = table
    .split("\n")
    .flatMap((row) => [...(row.split("|")[1] ?? "").matchAll(/`([a-z-]+)`/g)].map(([, id]) => id));
  expect(named).toHaveLength(6);
  const report = await reportOn("wrong");
  expect([...idsOf(report, "fail"), ...idsOf(report, "warn")]).toEqual(
    expect.arrayContaining(named),
  );
  expect(report.checks.find(({ id }) => id === "duplicate")).toMatchObject({
    brief: "took effect twice",
    advice: "idempotency",
  });
});

test("the right receiver fails none, and gets the two warnings", async () => {
  const report = await reportOn("right");
  expect(idsOf(report, "fail")).toEqual([]);
  expect(idsOf(report, "warn")).toEqual(["signature-restringified", "wrong-content-type"]);
  // Its effects list every message.
  expect(report.checks.filter(({ verdict }) => verdict === "skipped").map(({ id }) => id)).toEqual([
    "order",
  ]);
});

test("the page names every check", () => {
  const [, table = ""] = /## All checks\n([^]*)$/.exec(page) ?? [];
  const named = [...table.matchAll(/`([a-z-]+)`/g)]
    .map(([, id]) => id)
    .filter((id) => checks.some((check) => check.id === id));
  expect(new Set(named)).toEqual(new Set(checks.map(({ id }) => id)));
});
