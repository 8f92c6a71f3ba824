/**
 * Checks messages against the tracking plan of their source. Routing asks for each new message of a
 * source that has a plan; without one nothing here runs.
 */

import type { CheckedMessage } from "../../domain/check.ts";
import type { Source } from "../../domain/configuration.ts";
import { isObject, type Json, type JsonObject } from "../../domain/json.ts";
import { MemberRemoval } from "../../domain/member-path.ts";
import { invalid, type Problem } from "../../domain/problem.ts";
import {
  defaultPlanSettings,
  readTrackingPlan,
  type PlanResult,
  type PlanRule,
  type PlanViolation,
  type SourcePlan,
} from "../../domain/tracking-plan.ts";
import type { CompiledRule } from "./compile-plan.ts";
import { maxViolations, violationsOf } from "./violations.ts";

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
export type PlanDraft = Partial<Omit<SourcePlan, "name" | "rules">> & {
  name?: string | null;
  /** A plan of the hosted service, or schemas by event. */
  schemas?: Json;
};

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
  const rules = new Rules(plan.rules);
  const wrong = rules.compileAll();
  if (wrong !== null) return invalid(wrong);
  const text = JSON.stringify(plan.rules);
  keep(text, rules);
  return { ...kept, ...chosen, name: name ?? plan.name, rules: text };
}

export function rulesOf(plan: Pick<SourcePlan, "rules">): PlanRule[] {
  return JSON.parse(plan.rules) as PlanRule[];
}

/** Sources are new objects after every change of the configuration; their rules mostly are not. */
const compiled = new WeakMap<SourcePlan, Rules>();
const byText = new Map<string, Rules>();
/** Plans that are kept compiled, also those of sources that are gone. */
const maxPlans = 100;

function rulesFor(plan: SourcePlan): Rules {
  let rules = compiled.get(plan);
  if (rules === undefined) {
    rules = byText.get(plan.rules) ?? new Rules(rulesOf(plan));
    keep(plan.rules, rules);
    compiled.set(plan, rules);
  }
  return rules;
}

function keep(text: string, rules: Rules): void {
  byText.delete(text);
  byText.set(text, rules);
  if (byText.size > maxPlans) byText.delete(byText.keys().next().value as string);
}

/** Most messages meet their plan: what only the others need is created for them alone. */
export function checkPlan(
  source: Pick<Source, "name">,
  plan: SourcePlan,
  message: CheckedMessage,
): PlanCheck {
  const rules = rulesFor(plan);
  const rule = rules.rule(message);
  const { common } = rules;
  const isPlanned = rule !== null || message.type !== "track" || plan.unplannedEvents === "allow";
  if (isPlanned && rule === null && common === null) return asPlanned(message);
  const subject = subjectOf(message);
  const failed =
    rule !== null && !passes(rule, subject)
      ? rule
      : common !== null && !passes(common, subject)
        ? common
        : null;
  const isNamed = rule === null || plan.unplannedProperties === "allow" || rule.planned === null;
  if (isPlanned && isNamed && failed === null) return asPlanned(message);
  return new Check({ source, plan, rules, message, subject, failed }).result(rule);
}

const none: never[] = [];

function asPlanned(message: CheckedMessage): PlanCheck {
  return { violations: none, dropped: none, blocked: false, message, reason: null };
}

/** False also when its patterns are given up. */
function passes(rule: CompiledRule, message: JsonObject): boolean {
  const { resetSteps, TooCostly } = compiler();
  resetSteps();
  try {
    return rule.first(message);
  } catch (error) {
    if (error instanceof TooCostly) return false;
    throw error;
  }
}

type Kept = PlanRule & { compiled: CompiledRule | null };

/** The rules by what they are for; those from the store are compiled at their first message. */
class Rules {
  /** By type and key, each in the order of its versions. */
  readonly #byType = new Map<string, Map<string, Kept[]>>();
  readonly #common: Kept | null;
  readonly #events = new Map<string, string>();

  constructor(rules: readonly PlanRule[]) {
    for (const rule of rules.toSorted((a, b) => a.version - b.version)) {
      const byKey = this.#byType.get(rule.type) ?? new Map<string, Kept[]>();
      this.#byType.set(rule.type, byKey);
      const key = rule.key ?? "";
      byKey.set(key, [...(byKey.get(key) ?? []), { ...rule, compiled: null }]);
      if (rule.type === "track" && rule.key !== null)
        this.#events.set(rule.key.toLowerCase(), rule.key);
    }
    this.#common = this.#byType.get("common")?.get("")?.[0] ?? null;
  }

  /** Returns a sentence for the first rule that cannot be checked. */
  compileAll(): string | null {
    for (const byKey of this.#byType.values())
      for (const versions of byKey.values())
        for (const rule of versions) {
          const compiled = compiler().compileRule(rule);
          if (typeof compiled === "string") return compiled;
          rule.compiled = compiled;
        }
    return null;
  }

  /** Of a message, but for the common rule. */
  rule({ type, event, context }: CheckedMessage): CompiledRule | null {
    const byKey = this.#byType.get(type);
    if (byKey === undefined) return null;
    const named = type === "identify" || type === "group" ? null : event;
    const versions = byKey.get(named ?? "") ?? (type === "track" ? undefined : byKey.get(""));
    if (versions === undefined) return null;
    return compiledOf(versions.length === 1 ? (versions[0] as Kept) : versionIn(versions, context));
  }

  get common(): CompiledRule | null {
    return this.#common === null ? null : compiledOf(this.#common);
  }

  /** An event of the plan that differs only in case. */
  similarTo(event: string): string | null {
    return this.#events.get(event.toLowerCase()) ?? null;
  }
}

function compiledOf(rule: Kept): CompiledRule {
  if (rule.compiled !== null) return rule.compiled;
  const compiled = compiler().compileRule(rule);
  if (typeof compiled === "string") throw new Error(compiled);
  rule.compiled = compiled;
  return compiled;
}

/** The oldest, unless the message names another one that exists. */
function versionIn(versions: readonly Kept[], context: JsonObject): Kept {
  const protocols = context["protocols"];
  const wanted = isObject(protocols) ? protocols["event_version"] : undefined;
  return versions.find(({ version }) => version === wanted) ?? (versions[0] as Kept);
}

/** Elements of a message times what is asked of each: errors that may be collected. */
const maxErrors = 100_000;

/** Kept on record. */
const maxDropped = 500;

type CheckOptions = {
  source: Pick<Source, "name">;
  plan: SourcePlan;
  rules: Rules;
  message: CheckedMessage;
  subject: JsonObject;
  /** A rule that the message is known to violate. */
  failed: CompiledRule | null;
};

/** Of a message that differs from its plan. */
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

  result(rule: CompiledRule | null): PlanCheck {
    const { unplannedEvents, onViolation } = this.#plan;
    const whole = this.#removal.rest;
    let reason: PlanCheck["reason"] = null;
    if (rule === null && this.#message.type === "track" && unplannedEvents !== "allow") {
      const violation = { path: "event", message: this.#unplanned() };
      this.#violations.push(violation);
      if (unplannedEvents === "block") reason = this.#blockedBy("plan_unplanned_event", violation);
    }
    for (const each of [rule, this.#rules.common]) {
      if (each === null) continue;
      const before = this.#violations.length;
      this.#check(each);
      const violation = this.#violations[before];
      if (violation !== undefined && onViolation === "block")
        reason ??= this.#blockedBy("plan_violations", violation);
    }
    if (rule !== null) this.#checkNames(rule);
    const { traits, properties } = this.#removal.rest;
    const message =
      this.#removal.rest === whole
        ? this.#message
        : { ...this.#message, members: this.#trimmed({ traits, properties }) };
    const violations = this.#violations.slice(0, maxViolations);
    return { violations, dropped: this.#dropped, blocked: reason !== null, message, reason };
  }

  #check(rule: CompiledRule): void {
    const message = this.#removal.rest;
    if (rule !== this.#failed && passes(rule, message)) return;
    const { resetSteps, TooCostly } = compiler();
    const isSmall = elementsOf(message) * rule.repeatedSize <= maxErrors;
    const validate = isSmall ? rule.all() : rule.first;
    resetSteps();
    try {
      validate(message);
      for (const { violation, remove } of violationsOf(validate.errors ?? [], message)) {
        this.#violations.push(violation);
        if (this.#plan.onViolation === "drop-properties" && remove !== null) this.#drop(remove);
      }
    } catch (error) {
      if (!(error instanceof TooCostly)) throw error;
      const sentence = "was not checked completely: its texts are too long for the plan's patterns";
      this.#violations.push({ path: "", message: sentence });
    }
  }

  #checkNames({ planned }: CompiledRule): void {
    const { unplannedProperties } = this.#plan;
    if (unplannedProperties === "allow" || planned === null) return;
    const { type } = this.#message;
    const member = type === "identify" || type === "group" ? "traits" : "properties";
    const members = this.#removal.rest[member];
    if (!isObject(members)) return;
    const known = new Set(this.#violations.map(({ path }) => path));
    for (const name of Object.keys(members)) {
      if (planned.names.has(name) || planned.fits(name)) continue;
      const path = `${member}.${name.slice(0, 100)}`;
      if (!known.has(path)) this.#violations.push({ path, message: "is not in the plan" });
      known.add(path);
      if (unplannedProperties === "drop") this.#drop([member, name]);
    }
  }

  #drop(tokens: readonly string[]): void {
    const removed = this.#removal.remove(tokens);
    if (removed !== null && this.#dropped.length < maxDropped) this.#dropped.push(removed);
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
    const text = `${JSON.stringify(event.slice(0, 100))} is not in the plan`;
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
  if (messageId !== members["messageId"] && messageId !== null) subject["messageId"] = messageId;
  const member = type === "identify" || type === "group" ? "traits" : "properties";
  if (!isObject(subject[member]) && type !== "alias" && type !== "delete") subject[member] = {};
  return subject;
}

function elementsOf(value: Json): number {
  if (typeof value !== "object" || value === null) return 1;
  let count = 1;
  for (const each of Object.values(value)) count += elementsOf(each);
  return count;
}
