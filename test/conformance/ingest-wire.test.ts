/** What real client libraries sent, byte for byte. */

import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { startIngestApp } from "../support/ingest-app.ts";
import { talk } from "../support/ingest-client.ts";

function wire(name: string): Buffer {
  return readFileSync(new URL(`./wire/${name}.http`, import.meta.url));
}

/** The JSON of each request's body, read apart from the code under test. */
function bodies(name: string): { batch: Record<string, unknown>[] | null }[] {
  return [
    ...wire(name)
      .toString("utf8")
      .matchAll(/^\{"(?:batch|context|messageId)".*\}$/gm),
  ].map(([body]) => JSON.parse(body) as { batch: null });
}

const go = (version: string) => ({ name: "analytics-go", version });

const files = [
  {
    name: "v120",
    requests: 1,
    types: "identify track page screen group alias",
    library: go("1.2.0"),
    routed: 6,
    warnings: 0,
    path: "/v1/import",
  },
  {
    name: "v200",
    requests: 2,
    types: "identify track page group alias",
    library: go("2.0.0"),
    routed: 5,
    warnings: 0,
    path: "/v1/batch",
  },
  {
    name: "v211-bare",
    requests: 1,
    types: "identify track page group alias",
    library: go("2.1.0"),
    routed: 5,
    warnings: 0,
    path: "/v1/batch",
  },
  {
    name: "v211",
    requests: 1,
    types: "identify track page group alias",
    library: go("2.1.0"),
    routed: 1,
    warnings: 0,
    path: "/v1/batch",
  },
  {
    name: "v330",
    requests: 1,
    types: "identify track page screen group alias",
    library: go("3.0.0"),
    routed: 6,
    warnings: 6,
    path: "/v1/batch",
  },
  {
    name: "node-3.1.0",
    requests: 1,
    types: "identify track page screen group alias",
    library: { name: "@segment/analytics-node", version: "3.1.0" },
    routed: 5,
    warnings: 0,
    path: "/v1/batch",
  },
];

test.each(files)(
  "$name.http ends as the right messages",
  async ({ name, requests, types, library, routed, warnings, path }) => {
    const app = await startIngestApp();
    const destination = await app.destination({ sourceIds: [app.source.id] });

    const { answers } = await talk(app.port, [wire(name)], { answers: requests });
    expect(answers.map(({ status, text }) => [status, text])).toEqual(
      Array.from({ length: requests }, () => [200, `{"success":true}`]),
    );

    const sent = bodies(name).flatMap(({ batch }) => batch ?? []);
    expect(sent.map(({ type }) => type).join(" ")).toBe(types);
    const received = await destination.received();
    const messages = await app.messages();
    expect(messages.map(({ raw }) => raw)).toEqual(
      // Each message is kept as the very bytes that came, which JSON.stringify need not write.
      messages.map((_, place) =>
        expect.toSatisfy((raw) => wire(name).includes(String(raw)) && same(raw, sent[place])),
      ),
    );
    expect(
      messages.map(({ type, messageId, userId, anonymousId, event, timestamp, sourceId }) => {
        return { type, messageId, userId, anonymousId, event, timestamp, sourceId };
      }),
    ).toEqual(
      sent.map((message) => ({
        type: message["type"],
        messageId: message["messageId"],
        userId: message["userId"] ?? null,
        anonymousId: message["anonymousId"] ?? null,
        event:
          {
            track: message["event"],
            page: message["name"],
            screen: message["name"],
            group: message["groupId"],
          }[String(message["type"])] ?? null,
        timestamp: isoOf(String(message["timestamp"])),
        sourceId: app.source.id,
      })),
    );
    expect(messages.map(({ request }) => request)).toEqual(
      messages.map(() =>
        expect.objectContaining({ method: "POST", path, messages: messages.length }),
      ),
    );

    const decisions = messages.flatMap((message) => message.decisions);
    expect(decisions).toHaveLength(messages.length);
    expect(decisions.filter((decision) => decision.routed)).toHaveLength(routed);
    expect(new Set(decisions.map(({ reason }) => reason))).toEqual(
      new Set(routed === messages.length ? ["routed"] : ["routed", "integrations_all_false"]),
    );
    const warned = decisions.flatMap((decision) => decision.warnings);
    expect(warned).toHaveLength(warnings);
    for (const warning of warned) expect(warning).toMatch(/`all`.*`All: false` was probably meant/);

    expect(received).toHaveLength(routed);
    expect(new Set(received.map(({ messageId }) => messageId)).size).toBe(routed);
    for (const payload of received) {
      const message = sent.find(({ messageId }) => messageId === payload["messageId"]);
      expect(payload).toMatchObject({
        type: message?.["type"],
        version: 1,
        timestamp: isoOf(String(message?.["timestamp"])),
        context: { ...(message?.["context"] as object), library },
      });
    }
  },
);

test("the batches of a client come in one after the other over one connection, and a file sent again is all duplicates", async () => {
  const app = await startIngestApp();
  const all = files.map(({ name }) => wire(name));
  const requests = files.reduce((sum, file) => sum + file.requests, 0);
  const { answers } = await talk(app.port, [...all, ...all], { answers: requests * 2 });
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
  const { messages } = await app.call("stats.get", {});
  expect(messages.byState).toMatchObject({ filtered: 33, duplicate: 33 });
  expect(answers.at(-1)?.text).toContain(`"duplicates":[{"index":0,`);
});

/** ISO 8601 with milliseconds, written here from the text of each client. */
function isoOf(text: string): string {
  const [, seconds, fraction = ""] = /^(.{19})(?:\.(\d+))?(?:Z|\+0000)$/.exec(text) ?? [];
  return `${seconds}.${fraction.slice(0, 3).padEnd(3, "0")}Z`;
}

function same(raw: unknown, message: unknown): boolean {
  expect(JSON.parse(String(raw))).toEqual(message);
  return true;
}
