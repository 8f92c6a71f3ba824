/**
 * The timeline of a delivery, with the destination, the retry profile and the settings that it is
 * computed from.
 */

import { useMemo } from "react";
import type { AnswerOf } from "../../../contract/contract.ts";
import { profileOf } from "../../../domain/retry.ts";
import { nowOf, useClock } from "../../stores/clock.ts";
import { useDestination, useLive } from "../../stores/live-data.ts";
import type { TimelinePart } from "./timeline-layout.ts";
import {
  aheadOf,
  isUnstarted,
  roundsOf,
  timelineOf,
  windowsOf,
  type Ahead,
  type Delivery,
  type RetryWindow,
  type Round,
  type Timeline,
} from "./timeline-model.ts";

export type DeliveryTimeline = {
  /** Undefined while it loads, and when it has been deleted. */
  destination: AnswerOf<"destinations.get"> | undefined;
  /** Its name, or a phrase in its place. */
  name: string;
  timeoutMs: number;
  windows: readonly RetryWindow[];
  /** The index of the shown window. */
  windowIndex: number;
  /** Null while it loads. */
  timeline: Timeline | null;
  rounds: Round[];
  ahead: Ahead[];
};

/** Of one retry window; of the newest without `chosenWindow`. */
export function useTimeline(
  delivery: Delivery,
  chosenWindow: number | null = null,
): DeliveryTimeline {
  const { destination, isDeleted } = useDestination(delivery.destinationId);
  const profiles = useLive("retryProfiles.list", {}).answer?.items;
  const windows = useMemo(() => windowsOf(delivery), [delivery]);
  const windowIndex = Math.min(chosenWindow ?? windows.length - 1, windows.length - 1);
  const webhooks = useMemo(() => webhooksOf(delivery, destination), [delivery, destination]);
  const deliveries = useMemo(() => [delivery], [delivery]);
  const parts = useTimelineParts(deliveries, windows[windowIndex]);
  const timeline = parts?.[0]?.timeline ?? null;

  return {
    destination,
    name: nameOf(destination, isDeleted),
    timeoutMs: profileOf(profiles ?? [], destination?.retryProfile).timeoutMs,
    windows,
    windowIndex,
    timeline,
    rounds: useMemo(() => roundsOf(delivery, webhooks), [delivery, webhooks]),
    ahead: useMemo(() => (timeline === null ? [] : aheadOf(timeline)), [timeline]),
  };
}

/** With their numbers; a delivery of a mapping goes to the mapping's webhook alone. */
function webhooksOf(
  { webhookId, url }: Pick<Delivery, "webhookId" | "url">,
  destination: AnswerOf<"destinations.get"> | undefined,
) {
  const { webhooks = [] } = destination ?? {};
  return webhooks
    .map((webhook, place) => ({ ...webhook, url: url ?? webhook.url, number: place + 1 }))
    .filter(({ id }) => webhookId === undefined || webhookId === id);
}

function nameOf(destination: { name: string } | undefined, isDeleted: boolean): string {
  return destination?.name ?? (isDeleted ? "a deleted destination" : "");
}

/**
 * The timelines of deliveries, to be drawn over one axis: of their newest windows without `window`.
 * Null while what they are computed from loads.
 */
export function useTimelineParts(
  deliveries: readonly Delivery[],
  window?: RetryWindow,
): TimelinePart[] | null {
  const destinations = useLive("destinations.list", {}).answer?.items;
  const profiles = useLive("retryProfiles.list", {}).answer?.items;
  const settings = useLive("settings.get", {}).answer;
  const clock = useClock();
  // Only a delivery whose window has not begun moves with the clock as a whole.
  const now =
    deliveries.some(isUnstarted) && clock !== undefined
      ? Math.floor(nowOf(clock) / 1000) * 1000
      : 0;
  return useMemo(() => {
    if (destinations === undefined || profiles === undefined || settings === undefined) return null;
    const { seed, jitter } = settings;
    return deliveries.map((delivery): TimelinePart => {
      const destination = destinations.find(({ id }) => id === delivery.destinationId);
      return {
        key: delivery.id,
        name: nameOf(destination, true),
        timeline: timelineOf({
          delivery,
          webhooks: webhooksOf(delivery, destination),
          profile: profileOf(profiles, destination?.retryProfile),
          seed,
          jitter,
          window,
          now,
        }),
      };
    });
  }, [destinations, profiles, settings, deliveries, window, now]);
}
