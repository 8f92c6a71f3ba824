/** The clock under steady traffic: it moves when asked, whatever comes in meanwhile. */

import { describe, expect, test as base } from "vitest";
import { starting, until, type RunningApp } from "../support/running-app.ts";

const test = base.extend("start", starting);

const hour = 3_600_000;

/**
 * Messages one by one, `perSecond` of them, until it is stopped. Answers the ids of the messages'
 * users.
 */
function traffic(app: RunningApp, perSecond: number): { stop: () => Promise<number> } {
  let sent = 0;
  const underWay = new Set<Promise<unknown>>();
  const timer = setInterval(
    () => {
      for (let n = 0; n < Math.max(1, perSecond / 50); n += 1) {
        sent += 1;
        const request = app
          .ingest("/v1/track", { userId: `live${sent}`, event: "Seen" })
          .finally(() => underWay.delete(request));
        underWay.add(request);
      }
    },
    1000 / Math.min(50, perSecond),
  );
  return {
    async stop() {
      clearInterval(timer);
      await Promise.all(underWay);
      return sent;
    },
  };
}

describe("an advance under steady traffic", () => {
  test("ends at its target while a receiver always has requests under way", async ({ start }) => {
    const app = await start.app();
    const receiver = await start.receiver((response) =>
      setTimeout(() => response.writeHead(200).end(), 300),
    );
    await app.destination([receiver.url]);
    const running = traffic(app, 20);
    await until(() => receiver.requests.length > 10);
    const before = Date.parse((await app.call("clock.get", {})).now);
    const advanced = await app.advance({ byMs: 1000 });
    expect(Date.parse(advanced.now)).toBeGreaterThanOrEqual(before + 1000);
    expect(advanced.endedEarly).toBeNull();
    await until(async () => (await app.call("stats.get", {})).deliveries.byState.sending > 0);
    const after = await app.advance({ to: "next-due" });
    expect(after.endedEarly).toBeNull();
    await running.stop();
  });

  test("makes due retries at their times, in four hours at 200 messages a second", async ({
    start,
  }) => {
    const app = await start.app({ clock: "paused" });
    const receiver = await start.receiver((response, { body }) => {
      const { userId } = JSON.parse(body) as { userId: string };
      response.writeHead(userId.startsWith("live") ? 200 : 503).end();
    });
    await app.destination([receiver.url]);
    const id = await app.send();
    await app.settle();
    const running = traffic(app, 200);
    const { now: from } = await app.call("clock.get", {});
    const advanced = await app.advance({ byMs: 4 * hour });
    const sent = await running.stop();
    expect(Date.parse(advanced.now) - Date.parse(from)).toBe(4 * hour);
    const { state, attempts, transitions } = await app.delivery(id);
    expect(state).toBe("expired");
    const due = transitions.flatMap(({ nextAttemptAt }) => nextAttemptAt ?? []);
    expect(attempts.slice(1).map(({ startedAt }) => startedAt)).toEqual(due);
    expect(attempts.length).toBeGreaterThan(10);
    await app.settle();
    expect((await app.call("stats.get", {})).deliveries.byState).toMatchObject({
      delivered: sent,
      expired: 1,
    });
  });

  test("ends when everything fails and is retried, what comes in included", async ({ start }) => {
    const app = await start.app({ clock: "paused" });
    const receiver = await start.receiver((response) =>
      setTimeout(() => response.writeHead(503).end(), 50),
    );
    // What comes in adds due times, and a busy machine makes more of them pass; a short window
    // bounds them.
    await app.call("retryProfiles.create", { name: "short", windowMs: 300_000 });
    await app.destination([receiver.url], { retryProfile: "short" });
    const id = await app.send();
    const running = traffic(app, 20);
    const advanced = await app.advance({ to: "idle" });
    await running.stop();
    expect(advanced.endedEarly).toBeNull();
    expect((await app.delivery(id)).state).toBe("expired");
  });

  test("stands while an own retry waits for the connection of what came in", async ({ start }) => {
    const app = await start.app({ clock: "paused" });
    const held = new Map<string, () => void>();
    const receiver = await start.receiver((response, { body }) => {
      const { event } = JSON.parse(body) as { event: string };
      if (event === "Retried") response.writeHead(receiver.requests.length === 1 ? 503 : 200).end();
      else held.set(event, () => response.writeHead(200).end());
    });
    await app.call("settings.update", { laneConnections: 1 });
    await app.destination([receiver.url]);
    const id = await app.send({ event: "Retried" });
    await app.settle();
    const due = Date.parse((await app.delivery(id)).nextAttemptAt ?? "");
    const clockNow = async () => Date.parse((await app.call("clock.get", {})).now);
    await app.send({ event: "Own" });
    await until(() => held.has("Own"));
    const advanced = app.advance({ byMs: hour });
    await until(async () => (await app.call("clock.get", {})).advance !== null);
    await app.send({ event: "Arrived" });
    held.get("Own")?.();
    await until(async () => held.has("Arrived") && (await clockNow()) >= due);
    held.get("Arrived")?.();
    expect((await advanced).endedEarly).toBeNull();
    expect(Date.parse((await app.delivery(id)).attempts[1]?.startedAt ?? "")).toBe(due);
  });

  test("jumps over nothing that a test endpoint holds", async ({ start }) => {
    const app = await start.app({ clock: "paused" });
    const endpoint = await app.call("endpoints.create", {
      name: "Slow",
      steps: [{ do: "answer", delayMs: 300 }],
    });
    await app.destination([endpoint.url]);
    const running = traffic(app, 100);
    await until(async () => (await app.call("endpoints.requests", { id: endpoint.id })).total > 5);
    const advanced = await app.advance({ byMs: hour });
    await running.stop();
    expect(advanced.endedEarly).toBeNull();
    await app.advance({ to: "idle" });
    const { items } = await app.call("messages.list", { limit: 20 });
    for (const { id } of items) {
      const { attempts } = await app.delivery(id);
      expect(attempts).toMatchObject([{ outcome: "success", simulated: true }]);
      expect(attempts[0]?.durationMs).toBeGreaterThanOrEqual(300);
    }
  });
});
