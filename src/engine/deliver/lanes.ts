/** The lanes of all webhooks. Made and used by the station. */

import type { WebhookId } from "../../domain/ids.ts";
import { createSender } from "./exchange.ts";
import { Lane } from "./lane.ts";
import type { Trust } from "./trust.ts";

type LanesOptions = { trust: Trust; connections: () => number; report: (error: unknown) => void };

export type Lanes = ReturnType<typeof createLanes>;

export function createLanes({ trust, connections, report }: LanesOptions) {
  const lanes = new Map<WebhookId, Lane>();
  return {
    /** Opened when it is first needed. */
    of(id: WebhookId): Lane {
      let lane = lanes.get(id);
      if (lane === undefined) {
        lane = new Lane({ sender: createSender({ trust }), connections, report });
        lanes.set(id, lane);
      }
      return lane;
    },
    load: (id: WebhookId): number => lanes.get(id)?.load ?? 0,
    hasWaiting: (): boolean => [...lanes.values()].some((lane) => lane.waiting > 0),
    /** Takes out what has not started. */
    clear(): void {
      for (const lane of lanes.values()) lane.clear();
    },
    /** Closes those of webhooks that are not configured any more, once nothing is in them. */
    closeUnused(configured: readonly WebhookId[]): void {
      if (lanes.size <= configured.length) return;
      for (const [id, lane] of lanes) {
        if (configured.includes(id) || lane.load > 0) continue;
        lane.sender.close();
        lanes.delete(id);
      }
    },
    close(): void {
      for (const lane of lanes.values()) lane.sender.close();
    },
  };
}
