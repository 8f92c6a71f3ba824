/**
 * For the share file of data that no Hookyard has open, which is read by one that is never started:
 * it has counted nothing and listens nowhere. The flow counts the messages of the file, and test
 * endpoints have the ports that webhooks name.
 */

import type { AnswerOf } from "../contract/contract.ts";

export function countedAndPlaced(answers: Record<string, unknown>) {
  const flow = answers["flow.get"] as AnswerOf<"flow.get">;
  placeEndpoints(
    (answers["endpoints.list"] as AnswerOf<"endpoints.list">).items,
    (answers["destinations.list"] as AnswerOf<"destinations.list">).items.flatMap(({ webhooks }) =>
      webhooks.map(({ url }) => url),
    ),
  );
  const sources = new Map(flow.sources.map((source) => [source.id, source]));
  const webhooks = new Map(flow.webhooks.map((webhook) => [webhook.id, webhook]));
  const lineKey = (sourceId: string, destinationId: string): string =>
    `${sourceId} ${destinationId}`;
  const lines = new Map(
    flow.lines.map((line) => [lineKey(line.sourceId, line.destinationId), line]),
  );
  /** The newest message comes first. */
  return ({ id, sourceId, receivedAt, decisions, deliveries }: AnswerOf<"messages.get">): void => {
    flow.since = receivedAt;
    const source = sources.get(sourceId);
    if (source !== undefined) source.count += 1;
    for (const { destinationId, routed } of decisions) {
      const line = lines.get(lineKey(sourceId, destinationId));
      if (line !== undefined) line[routed ? "count" : "filtered"] += 1;
    }
    for (const { messageRowId, attempts } of deliveries)
      for (const { webhookId } of messageRowId === id ? attempts : []) {
        const webhook = webhooks.get(webhookId);
        if (webhook !== undefined) webhook.count += 1;
      }
  };
}

/** All of them listen on one port, and on one for TLS. */
function placeEndpoints(
  endpoints: AnswerOf<"endpoints.list">["items"],
  webhookUrls: readonly string[],
): void {
  const webhooks = webhookUrls.filter((url) => URL.canParse(url)).map((url) => new URL(url));
  for (const name of ["url", "tlsUrl"] as const) {
    const places = new Set(
      endpoints
        .map((endpoint) => new URL(endpoint[name]))
        .map(({ protocol, pathname }) => protocol + pathname),
    );
    const port = webhooks.find(
      ({ hostname, protocol, pathname }) =>
        /(^|\.)localhost$|^127\.|^\[::1\]$/.test(hostname) &&
        places.has(protocol + pathname.replace(/\/$/, "")),
    )?.port;
    for (const endpoint of port ? endpoints : [])
      endpoint[name] = endpoint[name].replace(/:0(?=\/)/, `:${port}`);
  }
}
