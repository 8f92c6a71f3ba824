/**
 * Random users, events, clock moves, syncs and deletions: whatever happened, the sum of all that receivers were told is
 * the membership, and nobody is told twice in a row that they are in, or out.
 */

import fc from "fast-check";
import { expect, test as base } from "vitest";
import type { Rule } from "../../src/domain/rules.ts";
import { starting, type Message, type RunningApp } from "../support/running-app.ts";

const test = base.extend("start", starting);

const hourMs = 60 * 60 * 1000;

const users = ["u1", "u2", "u3"];
const devices = ["a1", "a2"];

const rules: fc.Arbitrary<Rule> = fc.constantFrom<Rule[]>(
  { event: "Bought", atLeast: 2, withinDays: 2 },
  { event: "Bought", withinDays: 1, where: [{ property: "total", op: "greater", value: 1 }] },
  { all: [{ trait: "plan", op: "is", value: "pro" }, { not: { event: "Seen", withinDays: 1 } }] },
  {
    any: [
      { event: "Seen", atLeast: 3 },
      { event: "Bought", withinDays: 1 },
    ],
  },
  { all: [{ event: "Seen" }, { not: { event: "Bought", withinDays: 3 } }] },
);

const user = fc.constantFrom(...users);
const message: fc.Arbitrary<Message & { agoHours: number }> = fc
  .oneof(
    fc.record({
      type: fc.constant("track"),
      userId: user,
      event: fc.constantFrom("Bought", "Seen"),
      total: fc.integer({ min: 0, max: 3 }),
    }),
    fc.record({ type: fc.constant("track"), anonymousId: fc.constantFrom(...devices), event: fc.constantFrom("Bought", "Seen") }),
    fc.record({ type: fc.constant("identify"), userId: user, anonymousId: fc.constantFrom(...devices) }),
    fc.record({ type: fc.constant("identify"), userId: user, traits: fc.record({ plan: fc.constantFrom("pro", "free", null) }) }),
    fc.record({ type: fc.constant("alias"), userId: user, previousId: user }),
  )
  .chain((draft) => fc.integer({ min: 0, max: 60 }).map((agoHours) => ({ ...draft, agoHours })));

type Step =
  | { do: "send"; messages: (Message & { agoHours: number })[] }
  | { do: "advance"; hours: number }
  | { do: "sync"; audience: number }
  | { do: "rule"; audience: number; rule: Rule }
  | { do: "delete"; userId: string; suppress: boolean };
const audience = fc.integer({ min: 0, max: 2 });
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant("send" as const), messages: fc.array(message, { minLength: 1, maxLength: 6 }) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("advance" as const), hours: fc.integer({ min: 1, max: 60 }) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("sync" as const), audience }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("rule" as const), audience, rule: rules }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("delete" as const), userId: user, suppress: fc.boolean() }) },
);

async function send(app: RunningApp, messages: Extract<Step, { do: "send" }>["messages"]): Promise<void> {
  const now = Date.parse((await app.call("clock.get", {})).now);
  const batch = messages.map(({ agoHours, total, ...message }) => ({
    ...message,
    ...(total === undefined ? {} : { properties: { total } }),
    timestamp: new Date(now - agoHours * hourMs).toISOString(),
  }));
  await app.ingest("/v1/batch", { batch });
}

/** UserIds that a deletion takes away from all audiences without a word. */
async function idsOf(app: RunningApp, userId: string): Promise<string[]> {
  await app.settle();
  const [profile] = (await app.call("profiles.list", { userId })).items;
  if (profile === undefined) return [userId];
  const { identities } = await app.call("profiles.get", { id: profile.id });
  return identities.flatMap(({ kind, value }) => (kind === "userId" ? [value] : []));
}

/** Reads what an audience said behind what was read before, into who is in by it. */
class Listener {
  readonly members = new Set<string>();
  readonly sourceId: string;
  said = 0;

  constructor(sourceId: string) {
    this.sourceId = sourceId;
  }

  async hear(app: RunningApp): Promise<void> {
    const { items } = await app.call("messages.list", { sourceId: this.sourceId, limit: 1000 });
    const said = items.toReversed().slice(this.said);
    this.said = items.length;
    for (const { id, userId } of said) {
      const raw = (await app.message(id)).raw as string;
      const [value] = Object.values((JSON.parse(raw) as { traits: Record<string, boolean> }).traits);
      expect(value, `${userId} is told anew`).toBe(!this.members.has(userId ?? ""));
      if (value === true) this.members.add(userId ?? "");
      else this.members.delete(userId ?? "");
    }
  }
}

test("the sum of all that was told is the membership, and nobody hears the same twice", async ({ start }) => {
  const kinds = ["manual", "each-event", { everyMs: 5 * hourMs }] as const;
  await fc.assert(
    fc.asyncProperty(
      fc.array(rules, { minLength: 3, maxLength: 3 }),
      fc.array(step, { minLength: 3, maxLength: 14 }),
      async (drafts, steps) => {
        const app = await start.app({ clock: "paused" });
        const webhook = await start.receiver();
        await app.destination([webhook.url]);
        const audiences: { id: string; listener: Listener }[] = [];
        for (const [index, rule] of drafts.entries()) {
          const { id, sourceId } = await app.call("audiences.create", { name: `Audience ${index}`, rule, sync: kinds[index] ?? "manual" });
          audiences.push({ id, listener: new Listener(sourceId) });
        }
        const nth = (index: number): string => audiences[index]?.id ?? "";
        const current = [...drafts];
        const hearAll = async () => {
          await app.settle();
          for (const { listener } of audiences) await listener.hear(app);
        };
        for (const each of steps) {
          if (each.do === "send") await send(app, each.messages);
          if (each.do === "advance") await app.advance({ byMs: each.hours * hourMs });
          if (each.do === "sync") await app.call("audiences.sync", { id: nth(each.audience) });
          if (each.do === "rule") {
            await app.call("audiences.update", { id: nth(each.audience), rule: each.rule });
            current[each.audience] = each.rule;
          }
          if (each.do === "delete") {
            const ids = await idsOf(app, each.userId);
            await hearAll();
            await app.call("deletions.create", { userIds: [each.userId], suppress: each.suppress });
            for (const { listener } of audiences) for (const id of ids) listener.members.delete(id);
          }
          await hearAll();
        }
        expect(await app.call("audiences.sync", { id: nth(1) }), "one that follows each event is in step already").toEqual({
          entered: 0,
          left: 0,
        });
        for (const [index, { id, listener }] of audiences.entries()) {
          const { entered, left } = await app.call("audiences.sync", { id });
          const before = listener.members.size;
          await hearAll();
          expect(listener.members.size).toBe(before + entered - left);
          const preview = await app.call("audiences.preview", { rule: current[index] ?? { event: "" }, sample: 100 });
          expect(listener.members).toEqual(new Set(preview.sample.map(({ userId }) => userId)));
          const { size } = await app.call("audiences.get", { id });
          expect(size).toBe(preview.count);
        }
        // Every message from an audience has reached the webhook once.
        const identifies = webhook.requests.map(({ body }) => JSON.parse(body) as { messageId?: string; context?: { personas?: object } });
        const own = identifies.filter(({ context }) => context?.personas !== undefined).map(({ messageId }) => messageId);
        expect(new Set(own).size).toBe(own.length);
        expect(own).toHaveLength(audiences.reduce((sum, { listener }) => sum + listener.said, 0));
        await app.stop();
        await webhook.stop();
      },
    ),
    { numRuns: 60 },
  );
}, 120_000);
