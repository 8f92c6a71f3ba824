/** A delivery with what is around it: its destination, its rounds, and what is ahead of it. */

import { useMemo } from "react";
import type { AnswerOf } from "../../../contract/contract.ts";
import { profileOf } from "../../../domain/retry.ts";
import { nowOf, useClock } from "../../stores/clock.ts";
import { useDestination } from "../../stores/destination.ts";
import { useLive } from "../../stores/live-data.ts";
import { courseOf, isUnstarted } from "../timeline/course.ts";
import { aheadOf, roundsOf, type Ahead, type Delivery, type Round } from "./rounds.ts";

export type DeliveryCourse = {
  /** Undefined until it is known, and when it has been deleted. */
  destination: AnswerOf<"destinations.get"> | undefined;
  /** Its name, or what is said in its place. */
  name: string;
  timeoutMs: number;
  rounds: Round[];
  ahead: Ahead[];
};

export function useCourse(delivery: Delivery): DeliveryCourse {
  const { destination, isDeleted } = useDestination(delivery.destinationId);
  const profiles = useLive("retryProfiles.list", {}).answer?.items;
  const settings = useLive("settings.get", {}).answer;
  const clock = useClock();
  const profile = profileOf(profiles ?? [], destination?.retryProfile);
  // Only a delivery whose window has not begun moves with the clock.
  const beginning = isUnstarted(delivery) && clock !== undefined ? Math.floor(nowOf(clock) / 1000) * 1000 : 0;

  const rounds = useMemo(() => roundsOf(delivery, destination?.webhooks ?? []), [delivery, destination]);
  const ahead = useMemo(() => {
    if (destination === undefined || settings === undefined) return [];
    const { seed, jitter } = settings;
    return aheadOf(courseOf({ delivery, webhooks: destination.webhooks, profile, seed, jitter, now: beginning }));
  }, [delivery, destination, settings, profile, beginning]);

  return {
    destination,
    name: destination?.name ?? (isDeleted ? "a deleted destination" : ""),
    timeoutMs: profile.timeoutMs,
    rounds,
    ahead,
  };
}
