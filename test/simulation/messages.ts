/** Messages that a client sends, and what is expected of them. */

import type { Sent, Source } from "./model.ts";
import { drawIntegrations, routingOf, type Message } from "./routing.ts";
import type { Simulation } from "./simulation.ts";
import { eventNames, userNames } from "./world.ts";

const hour = 3_600_000;

export type Draft = { text: string; path: string; key: string; sent: Sent; source: Source };

export function draftMessage(sim: Simulation, source: Source): Draft {
  const { random, model } = sim;
  const type = random.weighted({ track: 8, identify: 4, page: 1, screen: 1, group: 1, alias: 0.6 });
  const messageId = random.chance(0.12)
    ? `m-${random.between(Math.max(1, model.made - 60), model.made)}`
    : `m-${(model.made += 1)}`;
  const key = `${source.id} ${messageId}`;
  const before = model.sent.get(key);
  if (before !== undefined) {
    const path = `/v1/${(JSON.parse(before.text) as { type: string }).type}`;
    return { text: before.text, path, key, sent: restated(sim, before, source), source };
  }
  const userId = random.pick(userNames);
  const anonymous = random.chance(0.3) ? { anonymousId: random.pick(["phone", "desk"]) } : {};
  const malformed = random.chance(0.06);
  const named =
    random.chance(0.12) && type !== "alias" && "anonymousId" in anonymous ? {} : { userId };
  const at = sim.now() - random.pick([0, 0, 0, 5000, hour, 30 * hour, 200 * hour]);
  const time = random.chance(0.3)
    ? {}
    : { timestamp: random.chance(0.1) ? "soon" : new Date(at).toISOString() };
  const members = {
    track: { event: random.pick(eventNames), properties: { total: random.below(100), unit: "€" } },
    identify: { traits: { plan: random.pick(["pro", "free"]), visits: random.below(3) } },
    page: { name: "Home", properties: { path: "/" } },
    screen: { name: "Start" },
    group: { groupId: "acme", traits: { size: random.below(50) } },
    alias: { previousId: random.pick([...userNames, "phone", "new"]) },
  }[type];
  const spoilt = malformed
    ? type === "track"
      ? { event: undefined }
      : { userId: 7, anonymousId: undefined }
    : {};
  const object = drawIntegrations(random);
  const chosen = object === undefined ? {} : { integrations: object };
  const message = {
    type,
    messageId,
    ...named,
    ...anonymous,
    ...time,
    ...members,
    ...chosen,
    ...spoilt,
  };
  const sent = {
    text: JSON.stringify(message),
    expected: "rejected" as const,
    accepted: 0,
    unanswered: 0,
  };
  model.sent.set(key, sent);
  return {
    text: sent.text,
    path: `/v1/${type}`,
    key,
    sent: malformed ? sent : restated(sim, sent, source),
    source,
  };
}

/** With what is to be expected of it now. */
function restated(sim: Simulation, sent: Sent, source: Source): Sent {
  const message = JSON.parse(sent.text) as Message & { previousId?: string };
  const names: unknown[] = [message.userId, message.previousId];
  const isMalformed =
    names.includes(7) || (message.type === "track" && message.event === undefined);
  if (isMalformed) sent.expected = "rejected";
  else if (names.some((name) => sim.model.suppressed.has(name as string)))
    sent.expected = "suppressed";
  else sent.expected = routingOf(sim, message, source);
  return sent;
}
