/**
 * A test endpoint ends connections on purpose: whether ours was a kept one must not change what the
 * attempt says.
 */

import { expect, test as base } from "vitest";
import { starting } from "../support/running-app.ts";

const test = base.extend("start", starting);

test.for([
  ["close", "closed_without_answer"],
  ["reset", "ECONNRESET"],
] as const)(
  "%s at a test endpoint is %s on a kept connection as on a new one",
  async ([action, code], { start }) => {
    const app = await start.app({ clock: "paused" });
    await app.call("settings.update", { laneConnections: 1 });
    const endpoint = await app.call("endpoints.create", {
      name: "Ends",
      steps: [{ do: "answer", times: 5 }, { do: action, times: 5 }, { do: "answer" }],
    });
    await app.destination([endpoint.url]);
    await app.ingest("/v1/batch", {
      batch: Array.from({ length: 10 }, (_, n) => ({
        type: "track",
        userId: `u${n}`,
        event: "Bought",
      })),
    });
    await app.settle();
    const { items } = await app.call("deliveries.list", { state: "waiting" });
    expect(items).toHaveLength(5);
    for (const { messageRowId } of items) {
      const { attempts } = await app.delivery(messageRowId);
      expect(attempts.map(({ outcome, error }) => [outcome, error?.code])).toEqual([
        ["connection_error", code],
      ]);
    }
  },
);
