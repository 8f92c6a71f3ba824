/**
 * Audiences and computed traits: assembled for `app.ts`, and as the control API sees them. Profiles
 * call `onApplied` within the transaction in which they change.
 */

import {
  audienceIds,
  computedTraitIds,
  type AudienceId,
  type SourceId,
  type ComputedTraitId,
  type DestinationId,
  type ProfileId,
} from "../../domain/ids.ts";
import type { Activity } from "../clock/activity.ts";
import type { Clock } from "../clock/clock.ts";
import { internalPayload, type InternalMessages } from "../ingest/internal-messages.ts";
import type { Changes, Configuration, OwnSources } from "../pipeline.ts";
import type {
  Audiences,
  ComputedTraits,
  ProfileValues,
  SyncProgress,
} from "../profile-pipeline.ts";
import type {
  Atomically,
  CancelledSync,
  ComputedStore,
  FirstSync,
  ProfileChange,
  ProfileEffects,
  ProfileStore,
  RuleStore,
} from "../profile-ports.ts";
import { createStopping } from "../stopping.ts";
import { createEditor, type DefinitionChange, type Draft, type Editor } from "./editor.ts";
import { createLive, Rechecks } from "./live.ts";
import { createCauses } from "./causes.ts";
import { LateDestinations } from "./late-destinations.ts";
import { createNotifier, missingOf, type Notifier, type SyncCounts } from "./notifier.ts";
import {
  createRegistry,
  type AudienceComputed,
  type Computed,
  type Definition,
  type TraitComputed,
  type Registry,
} from "./registry.ts";
import { createPeriods, Syncs } from "./sync.ts";
import { createWalker, type Walker } from "./walk.ts";
import { explainInPieces } from "../../domain/explain.ts";
import {
  allOf,
  nameOf,
  needsOf,
  stepsOfPiece,
  type InPieces,
  type Steps,
} from "../../domain/facts.ts";
import type { Json, JsonObject } from "../../domain/json.ts";
import { invalid, isProblem, notFound, problem, type Problem } from "../../domain/problem.ts";
import { nextTurn } from "../real-time.ts";

type ComputationsOptions = {
  store: ComputedStore &
    RuleStore &
    Atomically &
    Pick<ProfileStore, "facts" | "profiles" | "profileWithUser" | "user" | "emailsOf">;
  configuration: Configuration & OwnSources & { reload(): void };
  internalMessages: InternalMessages;
  clock: Clock;
  activity: Activity;
  changes: Changes;
  isSuppressed: (userId: string) => boolean;
  /** Resolves when every message committed so far is in the profiles. */
  caughtUp: () => Promise<void>;
  report: (error: unknown) => void;
};

export type Computations = {
  audiences: Audiences;
  computedTraits: ComputedTraits;
  onApplied(changes: readonly ProfileChange[]): void;
  /** What the messages that `onApplied` may send for the effects take, in steps of routing. */
  stepsOf(effects: ProfileEffects): number;
  /** The transaction of `onApplied` or `forget` failed. */
  onFailed(): void;
  /** Also when a suppression was lifted. */
  onConfigurationChanged(): void;
  sourceOf(audience: AudienceId): SourceId | undefined;
  /**
   * Whether the destination was sent the user's values that an audience or computed trait, named by
   * its source, has sent.
   */
  hasSentTo(source: SourceId, userId: string, to: DestinationId): boolean;
  /**
   * Drops what was not sent to users while they were suppressed, within the transaction that
   * deletes them.
   */
  forget(userIds: ReadonlySet<string>): void;
  /** The values of a user that were sent to receivers. */
  valuesOf(userId: string): ProfileValues;
  start(): void;
  stop(): void;
  /** Called after the store was emptied. */
  reload(): void;
};

export function createComputations(options: ComputationsOptions): Computations {
  const { store, clock, changes, report } = options;
  const registry = createRegistry({ store, changes });
  const walker = createWalker(options);
  const causes = createCauses({ store, now: () => clock.now() });
  const notifier = createNotifier({
    ...options,
    now: () => clock.now(),
    onRecheck: (at) => rechecks.note(at),
    onNotified: (computed, counts) => syncs.count(computed, counts),
    onMissed: (computed, missed) => lateDestinations.miss(computed, missed),
  });
  const sending = { ...options, registry, walker, notifier, causes };
  const syncs = new Syncs({ ...sending, onEnded: () => periods.arm() });
  const rechecks: Rechecks = new Rechecks(sending);
  const lateDestinations: LateDestinations = new LateDestinations(sending);
  const periods = createPeriods({ registry, syncs, clock, report });
  const editor = createEditor({ ...options, registry, syncs, onChange: arm, lateDestinations });
  const stopping = createStopping();
  const parts = { ...options, registry, editor, syncs, lateDestinations, walker, notifier };
  const audiences = createAudiences(parts);
  const computedTraits = createComputedTraits(parts);

  function arm(): void {
    periods.arm();
    rechecks.start();
  }

  return {
    audiences: {
      ...audiences,
      create: stopping.guard(audiences.create),
      update: stopping.guard(audiences.update),
      delete: stopping.guard(audiences.delete),
      sync: stopping.guard(audiences.sync),
      changes: stopping.guard(audiences.changes),
      preview: stopping.guard(audiences.preview),
      explain: stopping.guard(audiences.explain),
    },
    computedTraits: {
      ...computedTraits,
      create: stopping.guard(computedTraits.create),
      update: stopping.guard(computedTraits.update),
      delete: stopping.guard(computedTraits.delete),
      sync: stopping.guard(computedTraits.sync),
      preview: stopping.guard(computedTraits.preview),
    },
    ...createLive(sending),
    onFailed: () => void syncs.reload(),
    onConfigurationChanged: () => lateDestinations.note(),
    sourceOf: (audience) => registry.audience(audience)?.row.sourceId,
    hasSentTo(source, userId, to) {
      const computed = registry.ofSource(source);
      if (computed === undefined || computed.row.formerly?.includes(to) === true) return true;
      const missing = missingOf(computed.row, userId, to);
      return missing === null || missing === "missed";
    },
    forget: (userIds) => lateDestinations.forget(userIds),
    valuesOf(userId) {
      const values: ProfileValues = { memberships: [], computed: [] };
      for (const { sourceId, value, since } of store.lastSentFor(userId)) {
        const computed = registry.ofSource(sourceId);
        if (computed === undefined || value === null) continue;
        const { name, key } = computed.row;
        if (computed.kind === "audience")
          values.memberships.push({ id: computed.row.id, name, key, since });
        else values.computed.push({ id: computed.row.id, name, key, value, since });
      }
      return values;
    },
    start() {
      editor.removeLeftovers().catch(report);
      syncs.start();
      lateDestinations.start();
      arm();
    },
    stop() {
      stopping.stop();
      periods.stop();
      rechecks.stop();
      syncs.stop();
      lateDestinations.stop();
      editor.stop();
    },
    reload() {
      registry.reload();
      try {
        periods.catchUp();
      } catch (error) {
        report(error);
      }
      arm();
      lateDestinations.note();
    },
  };
}

type Parts = {
  store: ComputedStore & RuleStore & Pick<ProfileStore, "facts" | "profiles" | "profileWithUser">;
  registry: Registry;
  editor: Editor;
  syncs: Syncs;
  lateDestinations: LateDestinations;
  walker: Walker;
  notifier: Notifier;
  clock: Clock;
  caughtUp: () => Promise<void>;
};

const maxMembers = 500_000;
const maxBytesOfMembers = 24 * 1024 * 1024;

const knownBytes = new WeakMap<readonly string[], number>();

function bytesOf(members: readonly string[]): number {
  let bytes = knownBytes.get(members);
  if (bytes === undefined) {
    bytes = Buffer.byteLength(JSON.stringify(members));
    knownBytes.set(members, bytes);
  }
  return bytes;
}

type FoundUser = { userId: string; profileId: ProfileId | null };

/** Audiences and computed traits as the control API sees them. */
function createAudiences(parts: Parts): Audiences {
  const { store, registry, walker, notifier, clock, caughtUp } = parts;
  const find = (id: AudienceId): AudienceComputed | Problem =>
    registry.audience(id) ?? notFound("audience", audienceIds.format(id));
  const calls = createCalls(parts, {
    kind: "audience",
    find,
    view: ({ row }) => ({ ...row, size: store.countLastSent(row.sourceId) }),
  });
  /** All lists together fit the body of an import of the configuration. */
  const excessOf = (list: readonly string[] | null, except?: AudienceId): Problem | null => {
    if (list === null) return null;
    let count = list.length;
    let bytes = bytesOf(list);
    for (const one of registry.all()) {
      if (one.kind !== "audience" || one.row.id === except || one.row.members === null) continue;
      count += one.row.members.length;
      bytes += bytesOf(one.row.members);
    }
    if (count <= maxMembers && bytes <= maxBytesOfMembers) return null;
    return invalid(
      `The fixed lists of all audiences together have more than ${maxMembers} members, or ${maxBytesOfMembers / 1024 / 1024} MiB of them. Use a rule, or remove members.`,
    );
  };
  const traitsOf = (userId: string): JsonObject =>
    store.profiles({ userId }, 1, null).items[0]?.traits ?? {};
  const sampled = ({ userId, profileId }: FoundUser) => ({
    userId,
    profileId,
    traits: traitsOf(userId),
  });

  return {
    ...calls,
    create({ rule = null, members, ...draft }) {
      const list = members === undefined ? null : listOf(members);
      const excess = excessOf(list);
      if (excess !== null) return Promise.resolve(excess);
      return calls.create(draft, { rule }, (row) =>
        registry.insertAudience({ ...row, rule, members: list }),
      );
    },
    update(id, { rule, members, ...draft }) {
      if (rule !== undefined) return calls.update(id, draft, { rule, members: null });
      if (members === undefined) return calls.update(id, draft, {});
      const list = listOf(members);
      const excess = excessOf(list, id);
      if (excess !== null) return Promise.resolve(excess);
      return calls.update(id, draft, { rule: null, members: list });
    },
    async changes(id, sample) {
      await caughtUp();
      const computed = find(id);
      if (isProblem(computed)) return computed;
      const found: (FoundUser & { change: "entering" | "leaving" })[] = [];
      const counts = { entering: 0, leaving: 0 };
      for (const { values } of walker.toSync(computed)) {
        for (const user of values) {
          if (!notifier.differs(computed, user)) continue;
          const change = user.value === null ? "leaving" : "entering";
          counts[change] += 1;
          if (found.length < sample) found.push({ ...user, change });
        }
        await nextTurn();
      }
      const payload = (userId: string, value: true | null): Uint8Array =>
        internalPayload(notifier.sample(computed, userId, value), clock.now());
      return {
        ...counts,
        sample: found.map(({ change, ...user }) => ({
          ...sampled(user),
          change,
          payload: payload(user.userId, change === "entering" ? true : null),
        })),
      };
    },
    async preview(of, sample) {
      await caughtUp();
      const definition: Definition =
        "rule" in of ? of : { members: new Set(of.members.map(nameOf)) };
      const found: FoundUser[] = [];
      let count = 0;
      for (const { values } of walker.present(definition)) {
        count += values.length;
        found.push(...values.slice(0, sample - found.length));
        await nextTurn();
      }
      return { count, profiles: walker.total(definition), sample: found.map(sampled) };
    },
    async explain(rule, userId) {
      await caughtUp();
      const profile = store.profileWithUser(userId);
      if (profile === null) {
        const message = `No profile has the userId ${JSON.stringify(userId)}, so there is nothing to explain.`;
        return problem(404, "not_found", message);
      }
      const now = clock.now();
      const steps = { left: stepsOfPiece };
      const facts = await inTurns(store.facts(profile, allOf(needsOf(rule)), now, steps), steps);
      const { value, ...found } = await inTurns(explainInPieces(rule, facts, now, steps), steps);
      return { matches: value, ...found };
    },
  };
}

/** Each piece in another turn of the event loop. */
async function inTurns<Result>(pieces: InPieces<Result>, steps: Steps): Promise<Result> {
  for (let piece = pieces.next(); ; piece = pieces.next()) {
    if (piece.done === true) return piece.value;
    await nextTurn();
    steps.left = stepsOfPiece;
  }
}

function createComputedTraits(parts: Parts): ComputedTraits {
  const { store, registry, walker, caughtUp } = parts;
  const calls = createCalls(parts, {
    kind: "computed_trait",
    find: (id: ComputedTraitId): TraitComputed | Problem =>
      registry.computedTrait(id) ?? notFound("computed trait", computedTraitIds.format(id)),
    view: ({ row }) => ({ ...row, users: store.countLastSent(row.sourceId) }),
  });

  return {
    ...calls,
    create: ({ computation, ...draft }) =>
      calls.create(draft, { computation }, (row) =>
        registry.insertComputedTrait({ ...row, computation }),
      ),
    update: (id, { computation, ...draft }) =>
      calls.update(id, draft, computation === undefined ? {} : { computation }),
    async preview(computation, sample) {
      await caughtUp();
      const definition = { computation };
      const found: { profileId: ProfileId; userId: string; value: Json }[] = [];
      let count = 0;
      for (const { values } of walker.present(definition)) {
        count += values.length;
        for (const { profileId, userId, value } of values) {
          if (profileId !== null && found.length < sample) found.push({ profileId, userId, value });
        }
        await nextTurn();
      }
      return { count, profiles: walker.total(definition), sample: found };
    },
  };
}

type Kind<Id, One extends Computed, View> = {
  kind: One["kind"];
  find: (id: Id) => One | Problem;
  view: (one: One) => View;
};

/** The calls that audiences and computed traits have in common. */
function createCalls<Id, One extends Computed, View>(
  parts: Pick<Parts, "registry" | "editor" | "syncs" | "lateDestinations">,
  { kind, find, view }: Kind<Id, One, View>,
) {
  const { registry, editor, syncs, lateDestinations } = parts;
  type Shown = View & {
    destinationIds: DestinationId[];
    syncing: SyncProgress | null;
    cancelledSync: CancelledSync | null;
    firstSyncs: FirstSync[];
  };
  const show = (one: One): Shown => ({
    ...view(one),
    firstSyncs: one.row.firstSyncs ?? [],
    cancelledSync: one.row.cancelledSync ?? null,
    destinationIds: editor.destinationsOf(one.row.sourceId),
    syncing: syncs.progress(one.id),
  });
  const shown = (found: Computed | Problem): Shown | Problem =>
    isProblem(found) ? found : show(found as One);

  return {
    list: (): Shown[] =>
      registry.all().flatMap((computed) => (computed.kind === kind ? [show(computed as One)] : [])),
    get: (id: Id): Shown | Problem => shown(find(id)),
    create: async (...args: Parameters<Editor["create"]>): Promise<Shown | Problem> =>
      shown(await editor.create(...args)),
    async update(
      id: Id,
      draft: Partial<Draft>,
      definition: DefinitionChange,
    ): Promise<Shown | Problem> {
      const one = find(id);
      return isProblem(one) ? one : shown(await editor.update(one, draft, definition));
    },
    async delete(id: Id): Promise<Problem | null> {
      const one = find(id);
      if (isProblem(one)) return one;
      await editor.delete(one);
      return null;
    },
    async sync(id: Id): Promise<SyncCounts | Problem> {
      const one = find(id);
      if (isProblem(one)) return one;
      lateDestinations.continue(one);
      return syncs.run(one.id);
    },
    cancelSync(id: Id): Shown | Problem {
      const one = find(id);
      if (isProblem(one)) return one;
      syncs.cancel(one);
      lateDestinations.cancel(one);
      return shown(find(id));
    },
  };
}

/** Without duplicates, and spelled as in the store. */
function listOf(members: readonly string[]): string[] {
  return [...new Set(members.map(nameOf))];
}
