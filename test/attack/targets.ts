/**
 * The whole program with all its ports, as an attacker finds it: a source, a destination with a
 * secret, an endpoint, one message.
 */

import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import { createApp } from "../../src/app.ts";
import type { AnswerOf, CallName, InputOf } from "../../src/contract/contract.ts";
import { createControlPort } from "../../src/headless/http-api.ts";
import { createStaticPages } from "../../src/headless/static-pages.ts";

export const token = "T".repeat(43);
export const writeKey = "wk_attacked";
export const secret = "s3cret-of-the-destination";

export type Targets = Awaited<ReturnType<typeof startTargets>>;

export async function startTargets() {
  const reported: unknown[] = [];
  const report = (error: unknown): void => void reported.push(error);
  const app = createApp({
    data: ":memory:",
    ports: { ingest: 0, endpoints: 0, endpointsTls: 0 },
    version: "0.0.0",
    report,
  });
  const addresses = await app.start();
  const pages = createStaticPages([
    fileURLToPath(new URL("../../resources/bare", import.meta.url)),
  ]);
  const control = createControlPort({
    api: app.api,
    token,
    pages,
    host: "127.0.0.1",
    port: 0,
    report,
  });
  const controlUrl = await control.start();
  onTestFinished(async () => {
    await control.stop();
    await app.stop();
  });

  async function call<Name extends CallName>(
    name: Name,
    input: InputOf<Name>,
  ): Promise<AnswerOf<Name>> {
    const { status, body } = await app.api.call(name, input);
    if (status >= 400) throw new Error(`${name} answered ${status}: ${JSON.stringify(body)}`);
    return body as AnswerOf<Name>;
  }

  const source = await call("sources.create", { name: "Shop", writeKey });
  const endpoint = await call("endpoints.create", {
    name: "Receiver",
    steps: [{ do: "answer", status: 200 }],
  });
  await call("destinations.create", {
    name: "Crm",
    sourceIds: [source.id],
    webhooks: [{ url: endpoint.url }],
    sharedSecret: secret,
  });
  const port = (url: string): number => Number(new URL(url).port);
  let sent = 0;
  return {
    reported,
    call,
    endpointPath: new URL(endpoint.url).pathname,
    ports: {
      control: port(controlUrl),
      ingest: port(addresses.ingestUrl),
      endpoints: port(addresses.endpointsUrl),
    },
    /** A message as an honest client sends it; answers its id once it has been accepted. */
    async sendGood(): Promise<string> {
      const messageId = `good-${(sent += 1)}`;
      const answer = await fetch(`${addresses.ingestUrl}/v1/track`, {
        method: "POST",
        headers: { authorization: `Basic ${btoa(`${writeKey}:`)}` },
        body: JSON.stringify({ userId: "honest", event: "Bought", messageId }),
      });
      if (answer.status !== 200)
        throw new Error(`a good message was answered ${answer.status}: ${await answer.text()}`);
      return messageId;
    },
    /** Ids of the honest client's messages that are on record, in order. */
    async kept(): Promise<string[]> {
      const { items } = await call("messages.list", { userId: "honest", limit: 1000 });
      return items.map(({ messageId }) => messageId).toReversed();
    },
  };
}
