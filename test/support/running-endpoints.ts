/** Test endpoints on free ports with a stepped clock, as tests need them. */

import { onTestFinished } from "vitest";
import type { Step, TestEndpoint } from "../../src/domain/configuration.ts";
import type { EndpointId } from "../../src/domain/ids.ts";
import { isProblem } from "../../src/domain/problem.ts";
import type { Problem } from "../../src/domain/problem.ts";
import { Activity, Holds } from "../../src/engine/clock/activity.ts";
import { createTrust } from "../../src/engine/deliver/dial.ts";
import { createAuthority } from "../../src/engine/endpoints/authority.ts";
import { createEndpoints } from "../../src/engine/endpoints/endpoints.ts";
import type { EndpointsOptions } from "../../src/engine/endpoints/endpoints.ts";
import type { StoredEndpointState } from "../../src/engine/store-ports.ts";
import type { EndpointDraft, EndpointView } from "../../src/engine/endpoint-pipeline.ts";
import { createSteppedClock } from "./stepped-clock.ts";

export const testAuthority = createAuthority({ dataDir: null });

export function createEndpointStore(): EndpointsOptions["store"] {
  const kept = new Map<EndpointId, TestEndpoint>();
  let last = 0;
  let states: readonly StoredEndpointState[] = [];
  return {
    endpointStates: () => [...states],
    saveEndpointStates: (all) => void (states = all),
    endpoints: () => [...kept.values()],
    insertEndpoint(endpoint) {
      last += 1;
      const inserted = { ...endpoint, id: last as EndpointId };
      kept.set(inserted.id, inserted);
      return inserted;
    },
    updateEndpoint: (endpoint) => void kept.set(endpoint.id, endpoint),
    deleteEndpoint: (id) => void kept.delete(id),
  };
}

export async function startEndpoints(options: Partial<EndpointsOptions> = {}) {
  const clock = createSteppedClock();
  const holds = new Holds();
  const waiters: { count: number; resolve: () => void }[] = [];
  let received = 0;
  const endpoints = createEndpoints({
    store: createEndpointStore(),
    clock,
    holds,
    activity: new Activity(),
    trust: createTrust(),
    changes: {
      note(area, _id, added) {
        if (area !== "received" || added !== true) return;
        received += 1;
        for (const waiter of waiters) if (waiter.count <= received) waiter.resolve();
      },
      noteMany: () => {},
      noteGone: () => {},
    },
    authority: testAuthority,
    seed: () => 1,
    secrets: () => [],
    webhookUrls: () => [],
    report: (error) => {
      throw error;
    },
    host: "127.0.0.1",
    port: 0,
    tlsPort: 0,
    ...options,
  });
  const { url, tlsUrl } = await endpoints.start();
  onTestFinished(() => endpoints.stop());
  return {
    endpoints,
    clock,
    holds,
    url,
    tlsUrl,
    create: (draft: Partial<EndpointDraft> & { steps: Step[] }): EndpointView =>
      unwrap(endpoints.create({ name: "Under test", ...draft })),
    /**
     * Resolves when that many requests have been received since the start, and their steps have
     * begun.
     */
    whenReceived: (count: number) =>
      new Promise<void>((resolve) => {
        if (received >= count) resolve();
        else waiters.push({ count, resolve });
      }),
  };
}

export function unwrap<Value>(value: Value | Problem): Value {
  if (isProblem(value)) throw new Error(`${value.code}: ${value.message}`);
  return value;
}
