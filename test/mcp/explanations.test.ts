/** What the tools say of messages, where the cause is not the receiver's last answer. */

import { test as base, expect } from "vitest";
import { starting } from "../support/running-app.ts";
import { startAgent, type Agent } from "./agent.ts";

const test = base
  .extend("start", starting)
  .extend("agent", async ({ start }, { onCleanup }): Promise<Agent> => {
    const agent = await startAgent(start);
    onCleanup(() => agent.stop());
    return agent;
  });

test("a retry that waits for a disabled destination is not blamed on the receiver", async ({
  start,
  agent: { app, use },
}) => {
  const receiver = await start.receiver(503);
  const { id } = await app.destination([receiver.url]);
  await app.call("clock.set", { mode: "paused" });
  const message = await app.send();
  await app.settle();
  await app.call("destinations.update", { id, enabled: false });
  const text = await use("why_not_delivered", { id: message });
  expect(text).toContain("Cause: disabled");
  expect(text).toContain('"enabled":true');
  expect(text).not.toMatch(/Cause: status|next round|advance_clock/);
});
