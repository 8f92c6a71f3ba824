/** A simulated client in a whole pipeline, with shorthands for what its tests do all the time. */

import type { AnswerOf, InputOf } from "../../src/contract/contract.ts";
import type { RunningApp, Start } from "./running-app.ts";

type Details = AnswerOf<"clients.get">;
type Batch = AnswerOf<"clients.batches">["items"][number];

/** A paused app with a source, and a client of it. */
export async function startWithClient(
  start: Start,
  draft: Partial<InputOf<"clients.create">> = {},
  data = ":memory:",
) {
  const app = await start.app({ clock: "paused", data });
  const source = await app.call("sources.create", { name: "Shop", writeKey: "key" });
  const { id } = await app.call("clients.create", {
    name: "Checkout",
    ...(draft.writeKey === undefined ? { sourceId: source.id } : {}),
    ...draft,
  });
  return { app, id, source, ...clientOf(app, id) };
}

export function clientOf(app: RunningApp, id: string) {
  return {
    get: (): Promise<Details> => app.call("clients.get", { id }),
    async track(count: number, event = "Viewed"): Promise<Details> {
      for (let call = 0; call < count; call += 1) {
        await app.call("clients.call", {
          id,
          type: "track",
          call: { userId: "u1", event: `${event} ${call}` },
        });
      }
      return app.call("clients.get", { id });
    },
    /** Newest first. */
    batches: async (): Promise<Batch[]> => (await app.call("clients.batches", { id })).items,
    /** Oldest first, without their times. */
    lines: async (): Promise<string[]> =>
      (await app.call("clients.log", { id, limit: 1000 })).items
        .toReversed()
        .map(({ line }) => line.slice(25)),
  };
}

/** How many messages the pipeline has accepted. */
export const received = async (app: RunningApp): Promise<number> =>
  (await app.call("stats.get", {})).messages.total;
