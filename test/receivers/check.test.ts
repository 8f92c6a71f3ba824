/**
 * `hookyard check` against receivers with one bug each, and against right ones. A wrong receiver
 * gets the checks that have to find its bug; CHECK_WHOLE=1 gives it all of them.
 */

import { describe, expect, test } from "vitest";
import { runCheck, scoreOf, type CheckOptions } from "../../src/check/run-check.ts";
import { languages, missing, receivers, startReceiver, type ReceiverEntry } from "./receivers.ts";
import type { CheckReport } from "../../src/check/outcome.ts";

const isWhole = process.env["CHECK_WHOLE"] === "1";

const absent = new Map(languages.map((language) => [language, missing(language)]));
for (const reason of absent.values()) if (reason !== null) console.log(reason);

async function checked(
  entry: ReceiverEntry,
  more: Partial<CheckOptions> = {},
): Promise<CheckReport> {
  const there = await startReceiver(entry);
  try {
    return await runCheck({
      url: there.url,
      secret: there.secret,
      effects: { url: there.effectsUrl },
      seed: 7,
      ...more,
    });
  } finally {
    await there.stop();
  }
}

function findingsOf(report: CheckReport): string[] {
  return report.checks
    .filter(({ verdict }) => verdict === "fail" || verdict === "warn")
    .map(({ id }) => id);
}

describe.concurrent("a right receiver", () => {
  for (const entry of receivers.filter(({ bug }) => bug === null)) {
    test.skipIf(absent.get(entry.language) !== null)(`${entry.name} fails no check`, async () => {
      const report = await checked(entry);
      expect(report.checks.filter(({ verdict }) => verdict === "fail")).toEqual([]);
      expect(
        report.checks.filter(({ verdict }) => verdict === "skipped").map(({ id }) => id),
      ).toEqual([]);
      expect(findingsOf(report).filter((id) => !entry.allowed.includes(id))).toEqual([]);
      expect(report).toMatchObject({ verdict: "pass", score: scoreOf(report.checks) });
      expect(report.checks).toHaveLength(34);
    });
  }
});

describe.concurrent("a receiver with one bug", () => {
  for (const entry of receivers.filter(({ bug }) => bug !== null)) {
    test.skipIf(absent.get(entry.language) !== null)(`${entry.name} is found`, async () => {
      // What shows only after other requests needs all of them.
      const needsAll =
        isWhole || entry.finds.some((id) => id === "alive-after" || id === "replayed-late");
      const report = await checked(entry, needsAll ? {} : { only: entry.finds });
      const found = findingsOf(report);
      expect(found).toEqual(expect.arrayContaining([...entry.finds]));
      expect(
        found.filter((id) => !entry.finds.includes(id) && !entry.allowed.includes(id)),
      ).toEqual([]);
    });
  }
});
