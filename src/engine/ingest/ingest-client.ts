/** Sends to our own ingest port, over HTTP like any client: for the composer and the workspaces. */

import { problem, type Problem } from "../../domain/problem.ts";
import type { MessageType } from "../../domain/states.ts";

export type IngestClient = {
  send(writeKey: string, call: MessageType | "batch", body: string): Promise<{ status: number; body: string } | Problem>;
};

const noAnswer = problem(502, "no_answer", "The ingest port cut the connection without an answer, as a fault of the source can make it.");

export function createIngestClient({ ingestUrl }: { ingestUrl: () => string }): IngestClient {
  return {
    async send(writeKey, call, body) {
      const authorization = `Basic ${Buffer.from(`${writeKey}:`).toString("base64")}`;
      const headers = { "Content-Type": "application/json", "User-Agent": "hookyard-composer/1.0", Authorization: authorization };
      try {
        const answer = await fetch(`${ingestUrl()}/v1/${call}`, { method: "POST", headers, body });
        return { status: answer.status, body: await answer.text() };
      } catch {
        return noAnswer;
      }
    },
  };
}
