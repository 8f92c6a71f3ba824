/** Audiences as the control API sees them. */

import { explain } from "../../domain/explain.ts";
import { evaluate } from "../../domain/evaluate.ts";
import { allOf, nameOf, needsOf } from "../../domain/facts.ts";
import { audienceIds, type AudienceId, type ProfileId } from "../../domain/ids.ts";
import { isProblem, notFound, problem, type Problem } from "../../domain/problem.ts";
import type { JsonObject } from "../../domain/json.ts";
import type { Clock } from "../clock/clock.ts";
import { internalPayload } from "../ingest/internal-messages.ts";
import type { Audiences } from "../profile-pipeline.ts";
import type { ComputedStore, ProfileStore, RuleStore } from "../profile-ports.ts";
import { nextTurn } from "../real-time.ts";
import type { Asks, AudienceComputed } from "./computed.ts";
import { identify } from "./identify.ts";
import { createKind } from "./kind.ts";
import type { Maker } from "./make.ts";
import type { Registry } from "./registry.ts";
import type { Syncs } from "./sync.ts";
import type { Teller } from "./tell.ts";
import type { Walker } from "./walk.ts";

type AudiencesOptions = {
  store: ComputedStore & RuleStore & Pick<ProfileStore, "facts" | "profiles" | "profileWithUser">;
  registry: Registry;
  maker: Maker;
  syncs: Syncs;
  walker: Walker;
  teller: Teller;
  clock: Clock;
  caughtUp: () => Promise<void>;
};

export function createAudiences({ store, registry, maker, syncs, walker, teller, clock, caughtUp }: AudiencesOptions): Audiences {
  const find = (id: AudienceId): AudienceComputed | Problem => registry.audience(id) ?? notFound("audience", audienceIds.format(id));
  const kind = createKind({
    registry,
    maker,
    syncs,
    kind: "audience",
    find,
    view: ({ row }) => ({ ...row, size: store.countTold(row.sourceId) }),
  });
  const traitsOf = (userId: string): JsonObject => store.profiles({ userId }, 1, null).items[0]?.traits ?? {};
  const sampled = ({ userId, profileId }: { userId: string; profileId: ProfileId | null }) => ({
    userId,
    profileId,
    traits: traitsOf(userId),
  });

  return {
    ...kind,
    create({ rule = null, members, ...draft }) {
      const list = members === undefined ? null : listOf(members);
      return kind.create(draft, (row) => registry.insertAudience({ ...row, rule, members: list }));
    },
    update(id, { rule, members, ...draft }) {
      const definition =
        rule !== undefined ? { rule, members: null } : members !== undefined ? { rule: null, members: listOf(members) } : {};
      return kind.update(id, draft, definition);
    },
    async changes(id, sample) {
      await caughtUp();
      const computed = find(id);
      if (isProblem(computed)) return computed;
      const found: { userId: string; profileId: ProfileId | null; change: "entering" | "leaving" }[] = [];
      const counts = { entering: 0, leaving: 0 };
      for (const { standings } of walker.toSync(computed)) {
        for (const standing of standings) {
          if (!teller.differs(computed, standing)) continue;
          const change = standing.value === null ? "leaving" : "entering";
          counts[change] += 1;
          if (found.length < sample) found.push({ ...standing, change });
        }
        await nextTurn();
      }
      const space = teller.space();
      return {
        ...counts,
        sample: found.map(({ change, ...user }) => ({
          ...sampled(user),
          change,
          payload: internalPayload(identify(computed, user.userId, change === "entering" ? true : null, space), clock.now()),
        })),
      };
    },
    async preview(of, sample) {
      await caughtUp();
      const asks: Asks = "rule" in of ? of : { members: new Set(of.members.map(nameOf)) };
      const found: { userId: string; profileId: ProfileId | null }[] = [];
      let count = 0;
      for (const { standings } of walker.present(asks)) {
        count += standings.length;
        found.push(...standings.slice(0, sample - found.length));
        await nextTurn();
      }
      return { count, profiles: walker.total(asks), sample: found.map(sampled) };
    },
    async explain(rule, userId) {
      await caughtUp();
      const profile = store.profileWithUser(userId);
      if (profile === null)
        return problem(404, "not_found", `There is no profile with the userId ${JSON.stringify(userId)}, so there is nothing to explain.`);
      const now = clock.now();
      const facts = store.facts(profile, allOf(needsOf(rule)), now);
      const { value, until } = evaluate(rule, facts, now);
      return { matches: value, until, explained: explain(rule, facts, now) };
    },
  };
}

/** Each once, and as the store spells them. */
function listOf(members: readonly string[]): string[] {
  return [...new Set(members.map(nameOf))];
}
