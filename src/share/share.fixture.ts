/** A shop in memory, and what its share file is. */

import { expect, onTestFinished } from "vitest";
import { startInMemory } from "../app.ts";
import { isProblem } from "../domain/problem.ts";
import { collectShare } from "./share-file.ts";

type Asked = { secrets?: boolean; redact?: string[]; filter?: string };

export async function startShop() {
  const app = await startInMemory({
    startAt: Date.parse("2026-11-22T10:00:00Z"),
    version: "1.2.3",
  });
  onTestFinished(() => app.stop());
  const call = async <Answer>(name: string, input: unknown): Promise<Answer> => {
    const { status, body } = await app.api.call(name, input);
    expect(status, `${name}: ${JSON.stringify(body)}`).toBeLessThan(400);
    return body as Answer;
  };
  const share = async ({ secrets = false, redact = [], filter = "" }: Asked = {}) => {
    const lines = await collectShare({
      ...app,
      version: "1.2.3",
      savedAt: "2026-11-22T10:00:00.000Z",
      secrets,
      redact,
      filter,
    });
    if (isProblem(lines)) throw new Error(lines.message);
    return lines.join("\n");
  };
  const send = (
    key: string,
    body: unknown,
    headers: Record<string, string> = {},
    path = "/v1/batch",
  ) =>
    fetch(`${app.ingestUrl}${path}`, {
      method: "POST",
      headers: {
        authorization: `Basic ${Buffer.from(`${key}:`).toString("base64")}`,
        "content-type": "application/json",
        ...headers,
      },
      body: JSON.stringify(body),
    });
  return { app, call, share, send };
}

export const track = (userId: string, properties: unknown = {}) => ({
  type: "track",
  event: "Order Completed",
  userId,
  properties,
});
