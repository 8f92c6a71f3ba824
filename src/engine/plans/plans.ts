/**
 * Checks messages against the tracking plan of their source. Routing asks for each new message of a
 * source that has a plan; without one nothing here runs.
 */

import type { CheckedMessage } from "../../domain/check.ts";
import type { Source, SourcePlan, PlanDraft } from "../../domain/configuration.ts";
import { brief, isObject, type Json, type JsonObject } from "../../domain/json.ts";
import { memberPath, MemberRemoval } from "../../domain/member-path.ts";
import { invalid, type Problem } from "../../domain/problem.ts";
import {
  defaultPlanSettings,
  readTrackingPlan,
  type PlanRule,
} from "../../domain/tracking-plan.ts";
import type { SchemaSize } from "../../domain/schema-size.ts";
import { nextTurn } from "../real-time.ts";
import type { CompiledRule } from "./compile-plan.ts";
import { maxViolations, violationsOf } from "./violations.ts";
import type { PlanResult, PlanViolation } from "../route/decision.ts";

type Compiler = typeof import("./compile-plan.ts");

let loaded: Compiler | null = null;

/** Before the first plan is given or used: a Hookyard without plans never loads the validator. */
export async function loadPlans(): Promise<void> {
  loaded ??= await import("./compile-plan.ts");
}

function compiler(): Compiler {
  if (loaded === null) throw new Error("a tracking plan is used before the validator is loaded");
  return loaded;
}

/** What a user says of a plan: what is left out stays as it is. */
type PlanCheck = PlanResult & {
  /** Without what the plan drops. */
  message: CheckedMessage;
  /** Why it is blocked. */
  reason: { reason: string; detail: string } | null;
};

/**
 * The plan of a source after a change: null takes it away, left out it stays. Every rule is compiled
 * here, so that none can fail later.
 */
export function planFrom(
  draft: PlanDraft | null | undefined,
  before: SourcePlan | null,
): SourcePlan | null | Problem {
  if (draft === undefined) return before;
  if (draft === null) return null;
  const { schemas, name, ...settings } = draft;
  const kept = before ?? { ...defaultPlanSettings, name: null, rules: "" };
  const chosen = Object.fromEntries(
    Object.entries(settings).filter(([, value]) => value !== undefined),
  ) as typeof settings;
  if (schemas === undefined) {
    if (before === null)
      return invalid(
        "A plan needs `schemas`: a plan of the hosted service, or a JSON Schema for each event.",
      );
    return { ...kept, ...chosen, ...(name === undefined ? {} : { name }) };
  }
  const plan = readTrackingPlan(schemas);
  if (typeof plan === "string") return invalid(plan);
  const text = JSON.stringify(plan.rules);
  const wrong = rulesFor(text).wrong();
  if (wrong !== null) return invalid(wrong);
  return { ...kept, ...chosen, name: name ?? plan.name, rules: text };
}

/**
 * Before a plan is given to a source: compiles its rules in turns, so that nobody waits long and
 * `planFrom` finds them compiled. Returns what is wrong with the plan.
 */
export async function preparePlan(draft: PlanDraft | null | undefined): Promise<Problem | null> {
  if (draft === null || draft === undefined) return null;
  await loadPlans();
  if (draft.schemas === undefined) return null;
  const plan = readTrackingPlan(draft.schemas);
  if (typeof plan === "string") return invalid(plan);
  const wrong = await prepareRules(JSON.stringify(plan.rules));
  return wrong === null ? null : invalid(wrong);
}

/** Before the first message of a start. */
export async function preparePlans(plans: readonly SourcePlan[]): Promise<void> {
  if (plans.length > 0) await loadPlans();
  for (const { rules } of plans) await prepareRules(rules);
}

async function prepareRules(text: string): Promise<string | null> {
  const rules = rulesFor(text);
  if (rules.isReady) return null;
  for (const rule of rules.list) {
    await nextTurn();
    const compiled = rules.compiled(rule);
    if (typeof compiled === "string") return compiled;
    // The first run of a function compiles it, which takes as long again.
    for (const validate of [() => compiled.first, () => compiled.all()]) {
      await nextTurn();
      const run = validate();
      await nextTurn();
      run({});
    }
  }
  rules.isReady = true;
  keep(text, rules);
  return null;
}

export function rulesOf(plan: Pick<SourcePlan, "rules">): PlanRule[] {
  return JSON.parse(plan.rules) as PlanRule[];
}

/** Sources are new objects after every change of the configuration; their rules mostly are not. */
const inUse = new WeakMap<SourcePlan, Rules>();
const byText = new Map<string, Rules>();
/** Of plans that are kept compiled, also those of sources that are gone: some 20 KB each. */
const maxKeptRules = 5000;
let keptRules = 0;

function rulesFor(text: string): Rules {
  const rules = byText.get(text) ?? new Rules(rulesOf({ rules: text }));
  keep(text, rules);
  return rules;
}

/** As the newest; the oldest leave room for it. */
function keep(text: string, rules: Rules): void {
  forget(text);
  byText.set(text, rules);
  keptRules += rules.list.length;
  for (const [oldest] of byText) {
    if (keptRules <= maxKeptRules || oldest === text) break;
    forget(oldest);
  }
}

function forget(text: string): void {
  keptRules -= byText.get(text)?.list.length ?? 0;
  byText.delete(text);
}

/** Most messages meet their plan: what only the others need is created for them alone. */
export function checkPlan(
  source: Pick<Source, "name">,
  plan: SourcePlan,
  message: CheckedMessage,
): PlanCheck {
  const rules = rulesOfPlan(plan);
  const rule = rules.rule(message);
  const common = rules.common();
  const isPlanned = rule !== null || message.type !== "track" || plan.unplannedEvents === "allow";
  if (isPlanned && rule === null && common === null) return asPlanned(message);
  const subject = subjectOf(message);
  let failed = rule === null || passes(rule, subject) ? null : rule;
  if (failed === null && common !== null && !passes(common, subject)) failed = common;
  const hasNames = rule !== null && plan.unplannedProperties !== "allow";
  if (isPlanned && failed === null && !hasNames) return asPlanned(message);
  return new Check({ source, plan, rules, message, subject, failed }).result(rule);
}

/**
 * How long the check of a message of this size may take beyond the usual microseconds, in steps of
 * routing: a rule that is violated in hundreds of places, many patterns, or much that is asked of
 * each element.
 */
export function weightOfPlan(plan: SourcePlan, bytes: number): number {
  const { all, repeated, patterns } = rulesOfPlan(plan).largest;
  return (
    Math.max(0, all - usualSize) / 10 +
    Math.max(0, Math.min(bytes * patterns, mostOfPatterns) - usualOfPatterns) / 1000 +
    Math.max(0, bytes * repeated - usualOfElements) / 50
  );
}

/** One with thirty properties. */
const usualSize = 200;
const usualOfPatterns = 100_000;
/** Both checks of a message give up earlier. */
const mostOfPatterns = 6_000_000;
const usualOfElements = 100_000;

function rulesOfPlan(plan: SourcePlan): Rules {
  let rules = inUse.get(plan);
  if (rules === undefined) {
    rules = rulesFor(plan.rules);
    inUse.set(plan, rules);
  }
  return rules;
}

const none: never[] = [];

function asPlanned(message: CheckedMessage): PlanCheck {
  return { violations: none, dropped: none, blocked: false, message, reason: null };
}

/** False also for a rule that cannot be checked, and when its patterns are given up. */
function passes(rule: Compiled, message: JsonObject): boolean {
  return typeof rule !== "string" && compiler().checked(() => rule.first(message)) === true;
}

type Compiled = CompiledRule | string;

/** The rules by what they are for; each is compiled once, at the latest for its first message. */
class Rules {
  readonly list: readonly PlanRule[];
  /** All are compiled. */
  isReady = false;
  /** The largest sizes of those that are compiled. */
  largest: SchemaSize = { all: 0, repeated: 0, patterns: 0 };
  /** By type and key, each in the order of its versions. */
  readonly #byType = new Map<string, Map<string, PlanRule[]>>();
  readonly #compiled = new Map<PlanRule, Compiled>();
  readonly #events = new Map<string, string>();

  constructor(rules: readonly PlanRule[]) {
    this.list = rules;
    for (const rule of rules) {
      const byKey = this.#byType.get(rule.type) ?? new Map<string, PlanRule[]>();
      this.#byType.set(rule.type, byKey);
      const others = byKey.get(rule.key ?? "") ?? [];
      byKey.set(
        rule.key ?? "",
        [...others, rule].toSorted((a, b) => a.version - b.version),
      );
      if (rule.type === "track" && rule.key !== null)
        this.#events.set(rule.key.toLowerCase(), rule.key);
    }
  }

  /** The sentence for the first rule that cannot be checked. */
  wrong(): string | null {
    for (const rule of this.list) {
      const compiled = this.compiled(rule);
      if (typeof compiled === "string") return compiled;
    }
    return null;
  }

  /** Of a message, but for the common rule. */
  rule({ type, event, context }: CheckedMessage): Compiled | null {
    const byKey = this.#byType.get(type);
    const named = type === "identify" || type === "group" ? null : event;
    const versions = byKey?.get(named ?? "") ?? (type === "track" ? undefined : byKey?.get(""));
    if (versions === undefined) return null;
    return this.compiled(
      versions.length === 1 ? (versions[0] as PlanRule) : versionIn(versions, context),
    );
  }

  common(): Compiled | null {
    const [rule] = this.#byType.get("common")?.get("") ?? [];
    return rule === undefined ? null : this.compiled(rule);
  }

  /** An event of the plan that differs only in case. */
  similarTo(event: string): string | null {
    return this.#events.get(event.toLowerCase()) ?? null;
  }

  compiled(rule: PlanRule): Compiled {
    const known = this.#compiled.get(rule);
    if (known !== undefined) return known;
    const compiled = compiler().compileRule(rule);
    this.#compiled.set(rule, compiled);
    if (typeof compiled !== "string") {
      const { all, repeated, patterns } = this.largest;
      const { size } = compiled;
      this.largest = {
        all: Math.max(all, size.all),
        repeated: Math.max(repeated, size.repeated),
        patterns: Math.max(patterns, size.patterns),
      };
    }
    return compiled;
  }
}

/** The oldest, unless the message names another one that exists. */
function versionIn(versions: readonly PlanRule[], context: JsonObject): PlanRule {
  const protocols = context["protocols"];
  const wanted = isObject(protocols) ? protocols["event_version"] : undefined;
  return versions.find(({ version }) => version === wanted) ?? (versions[0] as PlanRule);
}

/** Elements of a message times what is asked of each: errors that may be collected. */
const maxErrors = 100_000;
/** Where only the first violation is looked for, so often, for some 100 ms in all. */
const maxRounds = 50;
const maxWork = 5_000_000;

const tooLong: PlanViolation = {
  path: "",
  message: "was not checked completely: its texts are too long for the plan's patterns",
};

const tooLarge: PlanViolation = {
  path: "",
  message: "was not checked completely: it has too many elements for every violation to be found",
};

const noNames = { names: new Set<string>(), fits: () => false };

type CheckOptions = {
  source: Pick<Source, "name">;
  plan: SourcePlan;
  rules: Rules;
  message: CheckedMessage;
  subject: JsonObject;
  /** A rule that the message is known to violate. */
  failed: Compiled | null;
};

/** Of a message that may differ from its plan. */
class Check {
  readonly #source;
  readonly #plan;
  readonly #rules;
  readonly #message;
  readonly #failed;
  readonly #violations: PlanViolation[] = [];
  readonly #dropped: string[][] = [];
  readonly #removal: MemberRemoval;

  constructor({ source, plan, rules, message, subject, failed }: CheckOptions) {
    this.#source = source;
    this.#plan = plan;
    this.#rules = rules;
    this.#message = message;
    this.#failed = failed;
    this.#removal = new MemberRemoval(subject);
  }

  result(rule: Compiled | null): PlanCheck {
    const { unplannedEvents, onViolation } = this.#plan;
    const whole = this.#removal.rest;
    let reason: PlanCheck["reason"] = null;
    if (rule === null && this.#message.type === "track" && unplannedEvents !== "allow") {
      const violation = { path: "event", message: this.#unplanned() };
      this.#violations.push(violation);
      if (unplannedEvents === "block") reason = this.#blockedBy("plan_unplanned_event", violation);
    }
    for (const each of [rule, this.#rules.common()]) {
      if (each === null) continue;
      const before = this.#violations.length;
      this.#check(each);
      const [violation] = this.#violations.slice(before);
      if (violation !== undefined && onViolation === "block")
        reason ??= this.#blockedBy("plan_violations", violation);
    }
    if (rule !== null && typeof rule !== "string") this.#checkNames(rule);
    const { traits, properties } = this.#removal.rest;
    const message =
      this.#removal.rest === whole
        ? this.#message
        : { ...this.#message, members: this.#trimmed({ traits, properties }) };
    const violations = this.#violations.slice(0, maxViolations);
    return { violations, dropped: this.#dropped, blocked: reason !== null, message, reason };
  }

  #check(rule: Compiled): void {
    if (typeof rule === "string") {
      this.#violations.push({ path: "", message: `was not checked. ${rule}` });
      return;
    }
    const message = this.#removal.rest;
    if (rule !== this.#failed && passes(rule, message)) return;
    const work = elementsOf(message) * rule.size.repeated;
    const isSmall = work <= maxErrors;
    const rounds = isSmall ? 1 : Math.max(2, Math.min(maxRounds, maxWork / work));
    const validate = isSmall ? rule.all() : rule.first;
    const fits = compiler().checked(() => this.#find(validate, rounds));
    if (fits === null) this.#violations.push(tooLong);
    else if (!fits && !isSmall && this.#isDropping) this.#violations.push(tooLarge);
  }

  get #isDropping(): boolean {
    return this.#plan.onViolation === "drop-properties";
  }

  /** True when nothing is left. What stops at the first violation finds the next one when that is dropped. */
  #find(validate: CompiledRule["first"], rounds: number): boolean {
    for (let round = 0; round < rounds; round += 1) {
      const message = this.#removal.rest;
      if (validate(message)) return true;
      const before = this.#dropped.length;
      for (const { violation, remove } of violationsOf(validate, message, this.#isDropping)) {
        const isNew = violation !== null && (round === 0 || remove !== null);
        if (isNew && !this.#isKnown(violation)) this.#violations.push(violation);
        if (this.#isDropping && remove !== null) this.#drop(remove);
      }
      if (this.#dropped.length === before) break;
    }
    return false;
  }

  /** The rule and the common one may say the same. */
  #isKnown({ path, message }: PlanViolation): boolean {
    return this.#violations.some((each) => each.path === path && each.message === message);
  }

  /** By the rule and by the common one. */
  #checkNames(rule: CompiledRule): void {
    const { unplannedProperties } = this.#plan;
    const common = this.#rules.common();
    if (unplannedProperties === "allow" || typeof common === "string") return;
    const { type } = this.#message;
    const member = type === "identify" || type === "group" ? "traits" : "properties";
    const planned = rule.planned[member];
    const always = common === null ? noNames : common.planned[member];
    if (planned === null || always === null) return;
    const members = this.#removal.rest[member];
    if (!isObject(members)) return;
    const known = new Set(this.#violations.map(({ path }) => path));
    const unplanned: string[] = [];
    const isComplete = compiler().checked(() => {
      for (const name of Object.keys(members))
        if (!planned.names.has(name) && !always.names.has(name))
          if (!planned.fits(name) && !always.fits(name)) unplanned.push(name);
      return true;
    });
    if (isComplete === null) this.#violations.push(tooLong);
    for (const name of unplanned) {
      const path = memberPath([member, name]);
      if (!known.has(path)) this.#violations.push({ path, message: "is not in the plan" });
      known.add(path);
      if (unplannedProperties === "drop") this.#drop([member, name]);
    }
  }

  #drop(tokens: readonly string[]): void {
    const removed = this.#removal.remove(tokens);
    if (removed !== null) this.#dropped.push(removed);
  }

  #trimmed(of: { traits: Json | undefined; properties: Json | undefined }): JsonObject {
    const members = { ...this.#message.members };
    for (const name of ["traits", "properties"] as const)
      if (of[name] !== undefined && members[name] !== undefined) members[name] = of[name];
    return members;
  }

  #unplanned(): string {
    const event = this.#message.event ?? "";
    const similar = this.#rules.similarTo(event);
    const text = `${brief(event)} is not in the plan`;
    return similar === null ? text : `${text}, which has ${JSON.stringify(similar)}`;
  }

  #blockedBy(reason: string, { path, message }: PlanViolation): PlanCheck["reason"] {
    const what = path === "" ? `it ${message}` : `${path} ${message}`;
    const detail = `The message violates the tracking plan of ${this.#source.name}: ${what}. The source blocks such messages.`;
    return { reason, detail };
  }
}

/** What a receiver would get: with the batch's context, and with `properties` and `traits`. */
function subjectOf({ type, members, context, messageId }: CheckedMessage): JsonObject {
  const subject: JsonObject = { ...members, type, context };
  if (messageId !== null && messageId !== members["messageId"]) subject["messageId"] = messageId;
  const member = type === "identify" || type === "group" ? "traits" : "properties";
  if (!isObject(subject[member]) && type !== "alias") subject[member] = {};
  return subject;
}

function elementsOf(value: Json): number {
  if (typeof value !== "object" || value === null) return 1;
  let count = 1;
  for (const each of Object.values(value)) count += elementsOf(each);
  return count;
}
