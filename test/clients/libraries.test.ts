/**
 * Client libraries as they are published, each in a program that makes hundreds of calls, meets a
 * fault, and ends: everything that Hookyard answered with success is delivered, once and signed,
 * and nothing is lost that the library did not lose.
 */

import { createHmac } from "node:crypto";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { AnswerOf } from "../../src/contract/contract.ts";
import { launchBrowser } from "../support/browser.ts";
import { starting, until } from "../support/running-app.ts";
import type { ReceivedRequest } from "../support/webhook-receiver.ts";
import { installed, languages, type Installed, type Language } from "./installed.ts";
import { libraries, runProgram, type Library } from "./libraries.ts";
import { bundled, openPage, programOf } from "./page.ts";
import {
  numberOf,
  startRecordingProxy,
  type NumberedMessage,
  type RecordingProxy,
} from "./recording-proxy.ts";

const project = fileURLToPath(new URL("../../", import.meta.url));
/** Several batches of every library, and more than any of them loses by itself. */
const callsOf = ({ loses, calls }: Library): number =>
  calls ?? ((loses?.most ?? 0) < 200 ? 200 : 500);
const sharedSecret = "s3cret";

/** Only for what never ends: a machine with other work to do must not decide about a test. */
const patienceMs = 240_000;

const here = Object.fromEntries(
  await Promise.all(languages.map(async (language) => [language, await installed(language)])),
) as Record<Language, Installed>;
for (const { reason } of Object.values(here)) if (reason !== null) console.log(reason);

const tried = libraries.filter(({ language }) => here[language].reason === null);

type Seen = { proxy: RecordingProxy; received: ReceivedRequest[]; elsewhere: string[] };
const seen = new Map<Library, Seen>();
let stats: AnswerOf<"stats.get">;

const cleanups: (() => Promise<unknown>)[] = [];
afterAll(async () => {
  for (const cleanup of cleanups.toReversed()) await cleanup();
});

/** All of them at the same time, against one Hookyard. */
beforeAll(async () => {
  const start = await starting({}, { onCleanup: (run) => cleanups.push(run) });
  const app = await start.app();
  // Thousands of deliveries in one process with their receivers: on a busy machine some of them wait
  // for longer than five seconds, and would be sent again.
  await app.call("settings.update", { laneConnections: 2 });
  await app.call("retryProfiles.create", { name: "patient", timeoutMs: patienceMs });
  const browser = tried.some(({ page }) => page) ? await launchBrowser() : null;
  if (browser !== null) cleanups.push(() => browser.close());

  await Promise.all(
    tried.map(async (library) => {
      const { name, faults = [{ do: "answer", status: 503, times: 1 }] } = library;
      const writeKey = `wk_${name.replaceAll(/\W/g, "_")}`;
      const source = await app.call("sources.create", { name, writeKey, faults });
      const { url, requests: received } = await start.receiver();
      await app.call("destinations.create", {
        name,
        retryProfile: "patient",
        sourceIds: [source.id],
        webhooks: [{ url }],
        sharedSecret,
      });
      const proxy = await startRecordingProxy(app.ingestUrl);
      cleanups.push(() => proxy.stop());
      const pointed = { url: proxy.url, writeKey, count: callsOf(library) };
      const folder = here[library.language].folder ?? "";
      seen.set(library, { proxy, received, elsewhere: [] });
      if (library.page === undefined) await runProgram(library, folder, pointed);
      else {
        const page = await openPage(
          browser ?? expect.unreachable(),
          await bundled(programOf(library.page), library.isOfProject ? project : folder),
          pointed,
        );
        await until(() => accepted(proxy).length >= pointed.count - (library.loses?.most ?? 0));
        await page.close();
        seen.get(library)?.elsewhere.push(...page.elsewhere);
      }
    }),
  );
  expect(await app.settle(patienceMs)).toMatchObject({ settled: true });
  stats = await app.call("stats.get", {});
});

/** The numbers of the messages that Hookyard answered with success, each time. */
function accepted({ requests }: RecordingProxy): number[] {
  return requests.flatMap(({ status, numbers }) => (status === 200 ? numbers : []));
}

const ascending = (numbers: Iterable<number>): number[] => [...numbers].toSorted((a, b) => a - b);

test("the lock files name no registry", () => {
  const locks = ["node/package-lock.json", "go/go.sum", "python/requirements.txt"];
  for (const lock of locks) {
    const text = readFileSync(new URL(lock, import.meta.url), "utf8");
    expect(text).toMatch(/sha512-|h1:|--hash=sha256:/);
    expect(text).not.toMatch(/"resolved"|--index-url|\bregistry\./);
  }
});

test("all are here that this machine has a language and a registry for", () => {
  expect(seen.size).toBe(tried.length);
  if (tried.length > 0) expect(stats.messages.byState).toMatchObject({ rejected: 0 });
});

describe.each(tried)("$name $version", (library) => {
  test("loses what it loses by itself, and no more", () => {
    const { proxy, elsewhere } = seen.get(library) ?? expect.unreachable();
    const { least, most } = library.loses ?? { least: 0, most: 0 };
    const count = callsOf(library);
    const lost = count - new Set(accepted(proxy)).size;
    console.log(
      `${library.name} ${library.version}: ${count} calls, ${proxy.requests.length} requests, ` +
        `${count - lost} accepted, ${lost} lost by itself`,
    );
    expect(lost).toBeGreaterThanOrEqual(least);
    expect(lost).toBeLessThanOrEqual(most);
    expect(proxy.requests.some(({ status }) => status === 503)).toBe(true);
    expect(elsewhere).toEqual([]);
  });

  test("everything accepted is delivered once, with the right signature", () => {
    const { proxy, received } = seen.get(library) ?? expect.unreachable();
    const messages = received.map(({ body }) => JSON.parse(body) as NumberedMessage);
    // On a busy machine a client gives up, and does not see that its request was accepted.
    const delivered = new Set(messages.map(numberOf));
    expect(ascending(delivered)).toEqual(
      expect.arrayContaining(ascending(new Set(accepted(proxy)))),
    );
    expect(delivered.size).toBe(messages.length);
    expect(new Set(messages.map(({ messageId }) => messageId)).size).toBe(messages.length);
    expect(new Set(messages.map(({ type }) => type))).toEqual(new Set(library.types));
    const isSigned = ({ body, headers }: ReceivedRequest): boolean => {
      const signature = createHmac("sha1", sharedSecret).update(body).digest("hex");
      return headers.some(([name, value]) => name === "X-Signature" && value === signature);
    };
    expect(received.filter((request) => !isSigned(request))).toEqual([]);
  });
});
