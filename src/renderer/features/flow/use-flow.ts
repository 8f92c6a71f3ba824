/**
 * What the flow view reads: the configuration, and what moves. It asks again when something
 * changed, four times a second at most, and while the answer becomes old by itself.
 */

import { useEffect, useMemo, useState } from "react";
import { PacedReader, pageTime } from "../../kit/paced-reader.ts";
import { placeOf } from "../../../contract/places.ts";
import { nowOf, useClock } from "../../stores/clock.ts";
import { useFeed, useLive } from "../../stores/live-data.ts";
import { call } from "../../transport/transport.ts";
import { flowModel, restOf, type FlowAnswer, type FlowModel } from "./flow-model.ts";

const pauseMs = 250;

const areas: ReadonlySet<string> = new Set(placeOf("flow.get").reads);

export function useFlow(): {
  flow: FlowAnswer | undefined;
  model: FlowModel | undefined;
  error: Error | null;
} {
  const [{ flow, error }, set] = useState<{ flow: FlowAnswer | undefined; error: Error | null }>({
    flow: undefined,
    error: null,
  });
  useEffect(() => {
    let isStale = true;
    let cancelRest: (() => void) | null = null;
    const change = (): void => {
      isStale = true;
      reader.wake();
    };
    const reader = new PacedReader({
      ...pageTime,
      next: () => (isStale ? { isPaced: true, run } : null),
      pauseAfter: () => pauseMs,
      onFailure: () => {
        isStale = true;
      },
      onEnd: () => set((before) => ({ ...before, error: reader.error })),
    });
    const run = async (): Promise<void> => {
      isStale = false;
      const answer = await call("flow.get", {});
      set({ flow: answer, error: null });
      cancelRest?.();
      const restMs = restOf(answer);
      cancelRest = restMs === null ? null : pageTime.later(restMs, change);
    };
    const unsubscribe = useFeed.subscribe(({ changes, missed }, before) => {
      const isTouched = changes !== before.changes && changes.some(({ area }) => areas.has(area));
      if (isTouched || missed !== before.missed) change();
    });
    reader.wake();
    return () => {
      unsubscribe();
      cancelRest?.();
      reader.stop();
    };
  }, []);

  const sources = useLive("sources.list", {}).answer?.items;
  const destinations = useLive("destinations.list", {}).answer?.items;
  const audiences = useLive("audiences.list", {}).answer?.items;
  const traits = useLive("computedTraits.list", {}).answer?.items;
  const clock = useClock();
  const model = useMemo(
    () =>
      clock === undefined ||
      flow === undefined ||
      sources === undefined ||
      destinations === undefined ||
      audiences === undefined ||
      traits === undefined
        ? undefined
        : flowModel({ sources, destinations, audiences, traits }, flow, nowOf(clock)),
    [clock, flow, sources, destinations, audiences, traits],
  );
  return { flow, model, error };
}
