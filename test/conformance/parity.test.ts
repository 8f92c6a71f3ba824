/** The switch that makes Hookyard like the hosted service, piece by piece, and what it warns of. */

import { expect, test } from "vitest";
import type { AnswerOf } from "../../src/contract/contract.ts";
import { startIngestApp, type IngestApp } from "../support/ingest-app.ts";

const track = { userId: "u", event: "e" };
const parityOf = (app: IngestApp): Promise<AnswerOf<"settings.parity">> =>
  app.call("settings.parity", {});
const changedPieces = async (app: IngestApp): Promise<string[]> =>
  (await parityOf(app)).pieces.flatMap(({ name, isHosted }) => (isHosted ? [] : [name]));

test("the switch changes what happens, of what exists and of what is created later", async () => {
  const app = await startIngestApp();
  const before = await app.destination({ sourceIds: [app.source.id] });
  await app.call("audiences.create", { name: "Big", rule: { event: "Bought" } });
  expect(await app.call("settings.update", { parity: "hosted" })).toMatchObject({
    parity: "hosted",
    vendor: "Segment.io",
    unknownKeys: "production",
    answers: "production",
    correctClockSkew: true,
    retryProfile: "hosted",
    contextIp: "direct",
    limitMessageIds: true,
  });
  expect(await parityOf(app)).toMatchObject({ parity: "hosted", isChanged: false });
  const later = await app.call("sources.create", { name: "Later", writeKey: "later" });
  const settled = { mode: "production", correctClockSkew: true };
  expect(later).toMatchObject(settled);
  expect(await app.call("sources.get", { id: app.source.id })).toMatchObject(settled);
  expect(await app.call("destinations.get", { id: before.id })).toMatchObject({
    retryProfile: "hosted",
  });

  // Answers, unknown keys, the length of ids.
  const ok = { status: 200, text: `{"success":true}` };
  expect(await app.send("/v1/track", {})).toMatchObject(ok);
  expect(await app.send("/v1/track", track, { key: "nobody" })).toMatchObject(ok);
  expect(await app.send("/v1/track", { ...track, messageId: "m".repeat(100) })).toMatchObject(ok);
  expect(await app.send("/v1/track", { ...track, messageId: "m".repeat(99) })).toMatchObject(ok);
  const rejected = await app.messages({ state: "rejected" });
  expect(rejected.map(({ reason }) => reason)).toEqual(["missing_user_id", "message_id_too_long"]);

  // The address, and the correction of times.
  const direct = { ...track, context: { direct: true } };
  await app.send("/v1/track", direct);
  await app.send("/v1/batch", { batch: [{ type: "track", ...track }], context: { direct: true } });
  const { now } = await app.call("clock.get", {});
  const sentAt = new Date(Date.parse(now) - 3_600_000).toISOString();
  await app.send("/v1/track", { ...track, timestamp: sentAt, sentAt });
  const received = await before.received();
  const ips = received.map(({ context }) => (context as { ip?: string }).ip);
  expect(ips).toEqual([undefined, "127.0.0.1", "127.0.0.1", undefined]);
  expect(Date.parse(received[3]?.timestamp ?? "")).toBeGreaterThanOrEqual(Date.parse(now));
  const requests = await app.call("endpoints.list", {});
  const { items } = await app.call("endpoints.requests", { id: requests.items[0]?.id ?? "" });
  expect(items[0]?.headers).toContainEqual(["User-Agent", "Segment.io/1.0"]);
});

test("every piece can be changed by itself, which the switch says, and it goes back", async () => {
  const app = await startIngestApp();
  const destination = await app.destination({ sourceIds: [app.source.id] });
  expect(await changedPieces(app)).toEqual([
    ...["answers", "unknownKeys", "vendor", "correctClockSkew", "retryProfile"],
    ...["contextIp", "limitMessageIds"],
  ]);
  await app.call("settings.update", { parity: "hosted", vendor: "Acme" });
  expect(await changedPieces(app)).toEqual(["vendor"]);
  expect(await parityOf(app)).toMatchObject({ parity: "hosted", isChanged: true });
  await app.call("settings.update", { vendor: "Segment.io" });
  await app.call("sources.update", { id: app.source.id, mode: "explain" });
  await app.call("destinations.update", { id: destination.id, retryProfile: "svix" });
  const { pieces } = await parityOf(app);
  expect(pieces.filter(({ isHosted }) => !isHosted)).toMatchObject([
    { name: "answers", others: [app.source.name] },
    { name: "retryProfile", others: ["Warehouse"] },
  ]);
  // One piece for all sources.
  await app.call("settings.update", { answers: "explain" });
  await app.call("settings.update", { answers: "production" });
  expect(await changedPieces(app)).toEqual(["retryProfile"]);

  expect(await app.call("settings.update", { parity: "own" })).toMatchObject({
    parity: "own",
    vendor: "Hookyard",
    unknownKeys: "explain",
    contextIp: "connection",
  });
  expect(await app.call("sources.get", { id: app.source.id })).toMatchObject({
    mode: "explain",
    correctClockSkew: "auto",
  });
  expect(await app.call("destinations.get", { id: destination.id })).toMatchObject({
    retryProfile: "svix",
  });
  await app.call("settings.update", { vendor: "Acme", parity: "hosted" });
  await app.call("settings.update", { parity: "own" });
  expect(await app.call("settings.get", {})).toMatchObject({ vendor: "Acme", answers: "explain" });
  expect(await app.api("settings.update", { retryProfile: "nothing" })).toMatchObject({
    status: 400,
  });
});

test("a configuration with the present parity, read again, leaves sources and destinations their own values", async () => {
  const app = await startIngestApp();
  const { id } = await app.destination({ sourceIds: [app.source.id] });
  const document = { version: 1 as const, settings: { parity: "hosted" as const } };
  await app.call("configuration.import", document);
  expect(await changedPieces(app)).toEqual([]);
  await app.call("sources.update", { id: app.source.id, mode: "explain" });
  await app.call("destinations.update", { id, retryProfile: "svix" });
  await app.call("configuration.import", document);
  expect(await changedPieces(app)).toEqual(["answers", "retryProfile"]);
  await app.call("settings.update", { parity: "hosted" });
  expect(await changedPieces(app)).toEqual([]);
});

test("Webhooks (Actions) has its own retry profile there, and another User-Agent", async () => {
  const app = await startIngestApp();
  const mapped = { kind: "webhooks-actions" as const, sourceIds: [app.source.id] };
  const { url, id } = await app.call("endpoints.create", { name: "R", steps: [{ do: "answer" }] });
  const mappings = [{ name: "All", url }];
  const before = await app.call("destinations.create", { ...mapped, name: "Before", mappings });
  const profileOf = async () =>
    (await app.call("destinations.get", { id: before.id })).retryProfile;
  await app.call("settings.update", { parity: "hosted" });
  expect(await profileOf()).toBe("actions");
  await app.call("destinations.create", { ...mapped, name: "Later", mappings });
  expect(await parityOf(app)).toMatchObject({ isChanged: false });

  await app.send("/v1/track", track);
  await app.call("pipeline.settle", {});
  const { items } = await app.call("endpoints.requests", { id });
  expect(items.map(({ headers }) => headers[1])).toEqual([
    ["user-agent", "Segment (Actions)"],
    ["user-agent", "Segment (Actions)"],
  ]);

  await app.call("destinations.update", { id: before.id, retryProfile: "hosted" });
  const { pieces } = await parityOf(app);
  expect(pieces.filter(({ isHosted }) => !isHosted)).toMatchObject([{ others: ["Before"] }]);
  await app.call("destinations.update", { id: before.id, retryProfile: "actions" });
  await app.call("settings.update", { parity: "own" });
  expect(await profileOf()).toBe("actions");
});

test("an IP address of browsers and phones needs no request for it", async () => {
  const app = await startIngestApp({ source: { kind: "web" } });
  await app.call("settings.update", { parity: "hosted" });
  const destination = await app.destination({ sourceIds: [app.source.id] });
  await app.send("/v1/track", track);
  expect(await destination.received()).toMatchObject([{ context: { ip: "127.0.0.1" } }]);
});

test("what would not work there is found, with its place", async () => {
  const app = await startIngestApp();
  const { id } = await app.call("destinations.create", {
    name: "Receivers",
    sourceIds: [app.source.id],
    webhooks: [
      { url: "http://10.1.2.3/hook" },
      { url: "https://valid.localhost:4703/x" },
      { url: "https://hooks.example.com/" },
    ],
    enabled: false,
  });
  await app.send("/v1/track", { ...track, integrations: { webhooks: false } });
  await app.send("/v1/track", { ...track, messageId: "m".repeat(120) });
  await app.send("/v1/track", { ...track, properties: { x: "x".repeat(33_000) } });
  const { findings } = await parityOf(app);
  const [large, long, miscased] = (await app.call("messages.list", {})).items;
  expect(
    findings.map(({ code, destinationId, messageId }) => [code, destinationId ?? messageId]),
  ).toEqual([
    ["local_url", id],
    ["plain_http", id],
    ["local_url", id],
    ["local_certificate", id],
    ["wrong_case", miscased?.id],
    ["too_large", large?.id],
    ["long_message_id", long?.id],
  ]);
  for (const { sentence } of findings) expect(sentence).toMatch(/^[A-Z0-9].*\.$/i);
});

test("a mapping whose URL is a template is found by what the template begins with", async () => {
  const app = await startIngestApp();
  const { id } = await app.call("destinations.create", {
    ...{ kind: "webhooks-actions", name: "Mapped", sourceIds: [] },
    mappings: [
      { name: "Local", url: { "@template": "http://10.1.2.3/{{event}}" } },
      { name: "Public", url: { "@template": "https://hooks.example.com/{{event}}" } },
    ],
  });
  const { findings } = await parityOf(app);
  expect(findings.map(({ code, destinationId }) => [code, destinationId])).toEqual([
    ["local_url", id],
    ["plain_http", id],
  ]);
});

test("a batch with too many messages and one with too large a context are told apart", async () => {
  const app = await startIngestApp();
  const batchOf = (count: number) =>
    Array.from({ length: count }, () => ({ type: "track", ...track }));
  const sentences = async () => (await parityOf(app)).findings.map(({ sentence }) => sentence);
  await app.send("/v1/batch", { batch: batchOf(600), context: { x: "x".repeat(10_000) } });
  expect(await sentences()).toEqual([expect.stringContaining("here only")]);
  await app.send("/v1/batch", { batch: batchOf(2_501) });
  expect((await sentences())[0]).toContain("more than 2,500 messages");
});

test("a name in the wrong case is found with the event that has it, or with the type of a message without one", async () => {
  const app = await startIngestApp();
  await app.destination({ sourceIds: [app.source.id] });
  await app.send("/v1/identify", { userId: "ada", integrations: { webhooks: false } });
  await app.send("/v1/track", { ...track, integrations: { webhooks: false } });
  const { findings } = await parityOf(app);
  const sentences = findings.flatMap((one) => (one.code === "wrong_case" ? [one.sentence] : []));
  expect(
    sentences.map((sentence) => /^A name in the integrations of (.+) has/.exec(sentence)?.[1]),
  ).toEqual([track.event, "identify"]);
});
