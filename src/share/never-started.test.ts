/** The share file of data that no Hookyard has open. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createApp } from "../app.ts";
import { isProblem } from "../domain/problem.ts";
import { typedCalls } from "../scenarios/run/pipeline.ts";
import { collectShare, shareApi, shareBytes } from "./share-file.ts";

test("webhooks lead to their test endpoints, and the flow counts the messages of the file", async () => {
  const data = mkdtempSync(join(tmpdir(), "hookyard-share-test-"));
  onTestFinished(() => rmSync(data, { recursive: true }));
  const options = { data, ports: { ingest: 0, endpoints: 0, endpointsTls: 0 }, version: "1.2.3" };
  const own = createApp({ ...options, clock: { startAt: 0, mode: "paused" } });
  const { ingestUrl } = await own.start();
  const { call } = typedCalls(own.api.call);
  const shop = await call("sources.create", { name: "Shop", writeKey: "wk_1" });
  const app = await call("sources.create", { name: "App", writeKey: "wk_2" });
  const down = await call("endpoints.create", {
    name: "Down",
    steps: [{ do: "answer", status: 503 }],
  });
  const secure = await call("endpoints.create", { name: "Secure", steps: [{ do: "answer" }] });
  const webhooks = [{ url: down.url }, { url: secure.tlsUrl }];
  await call("destinations.create", { name: "Both", sourceIds: [shop.id, app.id], webhooks });
  const send = async (key: string, more: object = {}): Promise<void> => {
    await fetch(`${ingestUrl}/v1/track`, {
      method: "POST",
      headers: { authorization: `Basic ${btoa(`${key}:`)}` },
      body: JSON.stringify({ event: "E", userId: "ada", ...more }),
    });
    await call("pipeline.settle", {});
  };
  await send("wk_1");
  await send("wk_1", { integrations: { All: false } });
  await send("wk_2");
  const flow = await call("flow.get", {});
  await own.stop();

  const never = createApp(options);
  onTestFinished(() => never.stop());
  const asked = { secrets: true, redact: [], filter: "", version: "1.2.3", savedAt: "" };
  const lines = await collectShare({ ...never, ...asked });
  if (isProblem(lines)) throw new Error(lines.message);
  const api = shareApi(await shareBytes(lines, "hookyard", ""));
  if (isProblem(api)) throw new Error(api.message);
  const shared = typedCalls(api.call);
  expect(await shared.call("about.get", {})).toMatchObject({ ingestUrl: "" });
  expect((await shared.call("endpoints.list", {})).items).toMatchObject(
    [down, secure].map(({ url, tlsUrl }) => ({ url, tlsUrl })),
  );
  const counts = ({ sources, lines: between, webhooks: ends }: typeof flow) => [
    sources.map(({ count }) => count),
    between.map(({ count, filtered }) => [count, filtered]),
    ends.map(({ count }) => count),
  ];
  expect(counts(await shared.call("flow.get", {}))).toEqual(counts(flow));
  expect(counts(flow)[0]).toEqual([2, 1]);
});
