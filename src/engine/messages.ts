/** What a user can do with messages: adopt an unknown write key, replay, pin. */

import { Agent, request, type IncomingMessage } from "node:http";
import { text } from "node:stream/consumers";
import { messageIds, sourceIds } from "../domain/ids.ts";
import { conflict, isProblem, notFound, problem, type Problem } from "../domain/problem.ts";
import type { Ingest } from "./ingest/ingest.ts";
import type { MessageType } from "../domain/states.ts";
import type { Changes, Configuration, Messages } from "./pipeline.ts";
import type { IngestStore, QueryStore } from "./ports.ts";

export type MessagesOptions = {
  store: IngestStore & Pick<QueryStore, "pin">;
  configuration: Configuration;
  ingest: Pick<Ingest, "adopt" | "replay" | "routedAgain" | "sendAgain">;
  ingestClient: IngestClient;
  changes: Changes;
};

export function createMessages({
  store,
  configuration,
  ingest,
  ingestClient,
  changes,
}: MessagesOptions): Messages {
  const isKept = (writeKey: string): boolean =>
    store.unknownKeys().some((key) => key.writeKey === writeKey);
  const notKept = (writeKey: string): Problem =>
    problem(
      404,
      "not_found",
      `No request with the write key ${JSON.stringify(writeKey)} is kept. It may already have been adopted.`,
    );

  return {
    unknownKeys: () => store.unknownKeys(),
    async adopt(writeKey, name) {
      if (!isKept(writeKey)) return notKept(writeKey);
      // The source may exist: somebody created it meanwhile, or a crash interrupted an earlier
      // adoption.
      const source =
        configuration.sourceByWriteKey(writeKey) ?? configuration.createSource({ name, writeKey });
      if (isProblem(source)) return source;
      try {
        await ingest.adopt(writeKey);
      } finally {
        changes.note("unknown-keys", writeKey);
      }
      return source;
    },
    forgetUnknownKey(writeKey) {
      if (!isKept(writeKey)) return notKept(writeKey);
      store.forgetUnknownKey(writeKey);
      changes.note("unknown-keys", writeKey);
      return null;
    },
    replay: (id) => ingest.replay(id),
    routedAgain: (id, destinations) => ingest.routedAgain(id, destinations),
    async sendAgain(messages, destination) {
      const going = messages.flatMap(
        ({ id, messageId }) => ingest.sendAgain(id, messageId, destination) ?? [],
      );
      return (await Promise.all(going)).length;
    },
    async send(sourceId, call, body) {
      const source = configuration.source(sourceId);
      if (source === undefined) return notFound("source", sourceIds.format(sourceId));
      if (source.kind !== "audience") return ingestClient.send(source.writeKey, call, body);
      return conflict(
        "audience_source",
        `Only the audience or computed trait ${source.name} sends from this source.`,
      );
    },
    pin(id, pinned) {
      if (!store.pin(id, pinned)) return notFound("message", messageIds.format(id));
      changes.note("messages", messageIds.format(id));
      return null;
    },
  };
}

export type IngestClient = {
  send(
    writeKey: string,
    call: MessageType | "batch",
    body: string,
  ): Promise<{ status: number; body: string } | Problem>;
};

const noAnswer = problem(
  502,
  "no_answer",
  "The ingest port closed the connection without an answer. A fault of the source can cause this.",
);

/**
 * Sends to our own ingest port, over HTTP like any client: for the composer, the workspaces and
 * scenarios. Not with `fetch`, which a test that uses `hookyard/testing` may have replaced.
 */
export function createIngestClient({
  ingestUrl,
  steady = false,
}: {
  ingestUrl: () => string;
  /**
   * A story is started again on the same port: a connection that was kept would lead to the ingest
   * port that is gone.
   */
  steady?: boolean;
}): IngestClient {
  const agent = new Agent({ keepAlive: !steady });
  return {
    async send(writeKey, call, body) {
      const authorization = `Basic ${Buffer.from(`${writeKey}:`).toString("base64")}`;
      const headers = {
        "Content-Type": "application/json",
        "User-Agent": "hookyard-composer/1.0",
        Authorization: authorization,
      };
      try {
        const answer = await new Promise<IncomingMessage>((resolve, reject) => {
          request(`${ingestUrl()}/v1/${call}`, { method: "POST", headers, agent }, resolve)
            .on("error", reject)
            .end(body);
        });
        return { status: answer.statusCode ?? 0, body: await text(answer) };
      } catch {
        return noAnswer;
      }
    },
  };
}
