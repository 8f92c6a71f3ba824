/** The tools that change the clock, the configuration, and what is stored. */

import { z } from "zod";
import { durationOf } from "../../domain/message-filter.ts";
import { addressOf, urlWithoutCredentials, withKnown } from "../../domain/credentials.ts";
import type { CallName } from "../../contract/contract.ts";
import { Answer, facts } from "../answer.ts";
import { defineTool, refused, type ToolContext } from "../tool.ts";
import { paceOf } from "./show.ts";

const advanceClock = defineTool({
  name: "advance_clock",
  title: "Advance, pause or run the clock",
  description:
    "Moves the clock that the pipeline waits for, so that hours of retries run in milliseconds: `by` a duration (30s, 10m, 4h), or `to` next-due (the next retry) or idle (until nothing is due). `mode` real, paused, or faster with `speed` 10, 60 or 600. Without anything it only shows the clock.",
  effect: "changes",
  schema: z.strictObject({
    by: z.string().optional(),
    to: z.enum(["next-due", "idle"]).optional(),
    mode: z.enum(["real", "paused", "faster"]).optional(),
    speed: z.literal([10, 60, 600]).optional(),
  }),
  async run({ by, to, mode, speed }, { call, caller }) {
    if (by !== undefined && to !== undefined) return refused("invalid", "Give either by or to.");
    const byMs = by === undefined ? 0 : durationOf(by);
    if (byMs === null) return refused("invalid", "by: Use a duration such as 30s, 10m or 4h.");
    if (mode === undefined && speed !== undefined)
      return refused("invalid", 'A speed is allowed only with the mode "faster".');
    const answer = new Answer();
    if (mode !== undefined)
      await call("clock.set", { mode, ...(speed === undefined ? {} : { speed }) });
    if (by !== undefined || to !== undefined) {
      const target = to === undefined ? { byMs } : { to };
      const { ran, endedEarly } = await call("clock.advance", target, caller);
      answer.say(`${ran.attempts} ${ran.attempts === 1 ? "attempt was" : "attempts were"} made.`);
      if (endedEarly !== null) answer.say(`The clock did not get there: ${endedEarly.code}.`);
    }
    const [clock, stats] = await Promise.all([call("clock.get", {}), call("stats.get", {})]);
    const { delivered, waiting, failed, expired } = stats.deliveries.byState;
    answer
      .say(
        `Clock: ${clock.now}, ${paceOf(clock)}${clock.nextDueAt === null ? ", nothing is due" : `, next due ${clock.nextDueAt}`}.`,
      )
      .say(
        `Deliveries: ${delivered} delivered, ${waiting} waiting, ${failed} failed, ${expired} expired.`,
      );
    if (waiting + failed + expired > 0)
      answer.next("why_not_delivered", {}, "what is not delivered, and why");
    return answer;
  },
});

type Kind = {
  create: CallName | null;
  update: CallName | null;
  remove: CallName | null;
};
const kinds = {
  source: { create: "sources.create", update: "sources.update", remove: "sources.delete" },
  destination: {
    create: "destinations.create",
    update: "destinations.update",
    remove: "destinations.delete",
  },
  endpoint: { create: "endpoints.create", update: "endpoints.update", remove: "endpoints.delete" },
  audience: { create: "audiences.create", update: "audiences.update", remove: "audiences.delete" },
  computed_trait: {
    create: "computedTraits.create",
    update: "computedTraits.update",
    remove: "computedTraits.delete",
  },
  retry_profile: {
    create: "retryProfiles.create",
    update: "retryProfiles.update",
    remove: "retryProfiles.delete",
  },
  settings: { create: "settings.update", update: null, remove: null },
  unknown_key: { create: null, update: "unknownKeys.adopt", remove: "unknownKeys.forget" },
} as const satisfies Record<string, Kind>;

const configure = defineTool({
  name: "configure",
  title: "Create, change or delete part of the configuration",
  description:
    'Without id: creates. With id: changes the given members; with `remove`, deletes. A list replaces the one that is there: show the object first; credentials that it shows as left-out stay when they are repeated so. Members in `changes`: source {name, writeKey, mode: explain|production, deduplicate, faults, plan: {schemas: {"Order Completed": JSON Schema of its properties, identify: …}, onViolation: record|drop-properties|block, unplannedEvents: allow|record|block, unplannedProperties: allow|record|drop}, or null}; destination {name, sourceIds, webhooks: [{url, headers}], sharedSecret, enabled, retryProfile, filters: [{name, action: drop|sample|allow-properties|drop-properties, if: \'type = "track" and match(event, "A*")\', share, properties: ["properties.email"]}]}, or of Actions {kind: "webhooks-actions", name, sourceIds, mappings: [{name, trigger: \'type = "track"\', url, method, headers, data: {id: {"@path": "$.userId"}}, batch: {enabled, size, waitMs}}]}; endpoint {name, path, steps: [{do: answer|hang|reset|…, status, times, delayMs}], after}; audience {name, rule: {trait: "plan", op: "is", value: "pro"} or {event: "A", atLeast: 2, withinDays: 7} or {all: […]}, or members: [userId], destinationIds, sync}; computed_trait {name, computation: {aggregate: count|sum|last|…, event, property}, destinationIds}; retry_profile {name, schedule, windowMs, timeoutMs, retriedStatuses}; settings {parity, seed, laneConnections, maxMessages, …}; unknown_key (id: the write key) {name} adopts it as a source.',
  effect: "deletes",
  schema: z.strictObject({
    kind: z.enum(Object.keys(kinds) as [keyof typeof kinds, ...(keyof typeof kinds)[]]),
    id: z.string().optional(),
    changes: z.record(z.string(), z.unknown()).default({}),
    remove: z.boolean().default(false),
  }),
  async run({ kind, id, changes, remove }, context) {
    const { create, update, remove: removal }: Kind = kinds[kind];
    if (remove && kind === "settings")
      return refused("invalid", "Settings cannot be deleted. Change them, without remove.");
    const name = remove ? removal : id === undefined ? create : update;
    if (name === null || (remove && id === undefined))
      return refused(
        "invalid",
        `${kind}: ${id === undefined ? "Give an id." : "Leave the id out."}`,
      );
    const { complete, missing } = remove
      ? { complete: {}, missing: [] }
      : await withCredentials({ kind, id, changes }, context.call);
    if (missing.length > 0)
      return refused(
        "invalid",
        `changes: A credential was left out, and Hookyard has none for that host. Give it: ${missing.join("; ")}.`,
      );
    const key = kind === "unknown_key" ? "writeKey" : "id";
    const input = { ...complete, ...(id === undefined ? {} : { [key]: id }) };
    const result = (await context.call(name, input as never)) as Result;
    if (remove) return new Answer().say("Deleted.");
    const isNew = id === undefined && kind !== "settings";
    return described(kind, isNew ? "Created" : "Changed", result);
  },
});

type Changes = Record<string, unknown>;

/** What `show` left out is put back: from what has the same URL, or the same name or place and host. */
async function withCredentials(
  { kind, id, changes }: { kind: keyof typeof kinds; id: string | undefined; changes: Changes },
  call: ToolContext["call"],
): Promise<{ complete: Changes; missing: string[] }> {
  const complete = { ...changes };
  const missing: string[] = [];
  const lists = ["webhooks", "mappings", "steps"].filter((name) => Array.isArray(changes[name]));
  if ((kind !== "destination" && kind !== "endpoint") || lists.length === 0)
    return { complete, missing };
  const present: Changes =
    id === undefined
      ? {}
      : await call(kind === "destination" ? "destinations.get" : "endpoints.get", { id });
  for (const name of lists) {
    const there = (present[name] ?? []) as Changes[];
    complete[name] = (changes[name] as unknown[]).map((given, place) => {
      if (typeof given !== "object" || given === null) return given;
      const drafted = given as Changes;
      const named = there.filter(
        (one) => one["name"] !== undefined && one["name"] === drafted["name"],
      );
      const near = named.length > 0 ? named : there.slice(place, place + 1);
      const url = addressOf(drafted);
      const host = hostOf(url);
      // A credential goes to no other host: an agent does not know its value.
      const moved = near
        .filter((each) => host !== null && hostOf(addressOf(each)) === host)
        .map(({ headers }) => ({ url, headers }));
      const completed = withKnown(drafted, [...near, ...there, ...moved]);
      missing.push(...completed.missing);
      return completed.one;
    });
  }
  return { complete, missing };
}

function hostOf(url: unknown): string | null {
  return typeof url === "string" && URL.canParse(url) ? new URL(url).hostname : null;
}

type Result = {
  id?: string | null;
  name?: string;
  url?: string;
  writeKey?: string;
  enabled?: boolean;
  webhooks?: { url: string; headers: Record<string, string> }[];
  mappings?: { name: string; enabled: boolean }[];
  filters?: { name: string; enabled?: boolean; action: string }[];
  plan?: { rules: number; onViolation: string } | null;
  size?: number;
};

function described(kind: keyof typeof kinds, did: string, result: Result): Answer {
  const { id, name, url, writeKey, enabled, webhooks = [], mappings = [], filters = [] } = result;
  const answer = new Answer()
    .say(`${did} ${kind === "settings" ? "the settings" : (id ?? kind)}.`)
    .data(
      [
        facts({ name, writeKey, url, enabled }),
        ...webhooks.map((webhook) => facts({ url: urlWithoutCredentials(webhook.url) })),
        ...mappings.map((one) => facts({ mapping: one.name, enabled: one.enabled })),
        ...filters.map((one) => facts({ filter: one.name, action: one.action })),
      ].filter((line) => line !== ""),
    );
  if (result.plan)
    answer
      .say(`Its tracking plan: ${result.plan.onViolation}; rules: ${result.plan.rules}.`)
      .next("find_messages", { filter: "plan:violations" }, "what violates it");
  if (result.size !== undefined) answer.say(`${result.size} users are in.`);
  if (kind === "audience" || kind === "computed_trait")
    answer
      .next("show", { id }, "its users and its rule")
      .next("find_messages", { filter: "type:identify" }, "the calls that it sends");
  if (kind === "source" || kind === "unknown_key")
    answer.next(
      "send_and_wait",
      { sourceId: id, event: "Test", userId: "u_1" },
      "sends through it",
    );
  if (kind === "destination") {
    answer.next("retry", { filter: "-state:delivered" }, "retries what failed before");
    answer.next("why_not_delivered", {}, "what is still not delivered");
  }
  return answer;
}

const reset = defineTool({
  name: "reset",
  title: "Delete all messages, or everything",
  description:
    "Deletes all messages with their deliveries, profiles, deletion requests and suppressions, or with what: everything the whole configuration too. Settings stay. It cannot be undone: use it only when the user asks for an empty Hookyard.",
  effect: "deletes",
  schema: z.strictObject({ what: z.enum(["messages", "everything"]) }),
  async run({ what }, { call }) {
    await call("pipeline.reset", { what });
    return new Answer().say(`Deleted: ${what}.`).next("overview", {}, "what is set up");
  },
});

export const controlTools = [advanceClock, configure, reset];
