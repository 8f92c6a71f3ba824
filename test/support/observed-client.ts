/** A client library's client on the stepped clock, with everything that it tells kept. */

import { Analytics } from "../../src/client/client.ts";
import type { AnalyticsOptions, ClientEvent, NotSentError } from "../../src/client/client.ts";
import { startBatchServer } from "./batch-server.ts";
import type { BatchAnswer } from "./batch-server.ts";
import { createSteppedClock } from "./stepped-clock.ts";

/** With a server that gives these answers, and then 200. */
export async function start(options: AnalyticsOptions = {}, answers: BatchAnswer[] = []) {
  const server = await startBatchServer((request) => answers[request] ?? { status: 200 });
  return { server, ...startClient({ endpoint: server.url, ...options }) };
}

export function startClient(options: AnalyticsOptions) {
  const time = createSteppedClock();
  const events: ClientEvent[] = [];
  const errors: NotSentError[] = [];
  let ids = 0;
  const waiting: { name: ClientEvent["event"]; resolve: (event: ClientEvent) => void }[] = [];
  const client = new Analytics("key", {
    time,
    random: () => 0,
    newId: () => `id-${(ids += 1)}`,
    onError: (error) => errors.push(error),
    onEvent(event) {
      events.push(event);
      for (const waiter of waiting.splice(0)) {
        if (waiter.name === event.event) waiter.resolve(event);
        else waiting.push(waiter);
      }
    },
    ...options,
  });
  return {
    client,
    time,
    events,
    errors,
    names: () => events.map(({ event }) => event),
    /** The next event of that name. */
    next: (name: ClientEvent["event"]) =>
      new Promise<ClientEvent>((resolve) => waiting.push({ name, resolve })),
    track(count: number): void {
      for (let call = 0; call < count; call += 1)
        client.track({ userId: "u", event: `Event ${call}` });
    },
  };
}
