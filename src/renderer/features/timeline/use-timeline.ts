/**
 * The timeline of a delivery, with the destination, the retry profile and the settings that it is
 * computed from.
 */

import { useMemo } from "react";
import type { AnswerOf } from "../../../contract/contract.ts";
import { profileOf } from "../../../domain/retry.ts";
import { nowOf, useClock } from "../../stores/clock.ts";
import { useDestination, useLive } from "../../stores/live-data.ts";
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
  const settings = useLive("settings.get", {}).answer;
  const clock = useClock();
  const profile = profileOf(profiles ?? [], destination?.retryProfile);
  const isLoaded = (destination !== undefined || isDeleted) && profiles !== undefined;
  // Only a delivery whose window has not begun moves with the clock as a whole.
  const now =
    isUnstarted(delivery) && clock !== undefined ? Math.floor(nowOf(clock) / 1000) * 1000 : 0;

  const windows = useMemo(() => windowsOf(delivery), [delivery]);
  const windowIndex = Math.min(chosenWindow ?? windows.length - 1, windows.length - 1);
  const webhooks = useMemo(() => destination?.webhooks ?? [], [destination]);
  const timeline = useMemo(() => {
    if (!isLoaded || settings === undefined) return null;
    const { seed, jitter } = settings;
    return timelineOf({
      delivery,
      webhooks,
      profile,
      seed,
      jitter,
      window: windows[windowIndex],
      now,
    });
  }, [isLoaded, settings, delivery, webhooks, profile, windows, windowIndex, now]);

  return {
    destination,
    name: destination?.name ?? (isDeleted ? "a deleted destination" : ""),
    timeoutMs: profile.timeoutMs,
    windows,
    windowIndex,
    timeline,
    rounds: useMemo(() => roundsOf(delivery, webhooks), [delivery, webhooks]),
    ahead: useMemo(() => (timeline === null ? [] : aheadOf(timeline)), [timeline]),
  };
}
