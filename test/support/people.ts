/**
 * Who did what, kept in the plainest way from the messages that were sent: to hold profiles and
 * audiences against.
 */

import { compute, evaluate } from "../../src/domain/rules.fixture.ts";
import type { EventFact, ProfileFacts, TraitFact } from "../../src/domain/facts.ts";
import type { MessageRowId } from "../../src/domain/ids.ts";
import type { JsonObject } from "../../src/domain/json.ts";
import type { Computation, Rule } from "../../src/domain/rules.ts";

export type SentMessage = {
  type: "identify" | "track" | "alias";
  userId?: string;
  anonymousId?: string;
  previousId?: string;
  event?: string;
  traits?: JsonObject;
  properties?: JsonObject;
  timestamp: string;
};

/** Of two values of one time, that of the later message counts. */
type Trait = TraitFact & { row: number };
type Person = {
  userId: string | null;
  traits: Map<string, Trait>;
  events: { name: string; fact: EventFact }[];
};

export class People {
  readonly #known = new Map<string, Person>();
  readonly #suppressed = new Set<string>();
  #rows = 0;

  send(message: SentMessage): void {
    const { type, userId, anonymousId, previousId, event } = message;
    const named = type === "alias" ? [userId, previousId] : [userId];
    if (named.some((name) => name !== undefined && this.#suppressed.has(name))) return;
    this.#rows += 1;
    const at = Date.parse(message.timestamp);
    if (userId !== undefined && anonymousId !== undefined) this.#join(userId, anonymousId);
    if (type === "alias" && userId !== undefined && previousId !== undefined)
      this.#alias(userId, previousId);
    const person =
      userId === undefined ? this.#at(anonymous(anonymousId ?? "")) : this.#user(userId);
    for (const [name, value] of Object.entries(message.traits ?? {}))
      set(person, name.toWellFormed(), { value, at, row: this.#rows });
    if (event === undefined) return;
    const fact = {
      at,
      properties: message.properties ?? {},
      messageId: this.#rows as MessageRowId,
    };
    person.events.push({ name: event, fact });
  }

  /** Answers all userIds that the user had. */
  delete(userId: string, suppress: boolean): string[] {
    if (suppress) this.#suppressed.add(userId);
    const person = this.#known.get(user(userId));
    const gone = [...this.#known].filter(([, one]) => one === person).map(([identity]) => identity);
    for (const identity of gone) this.#known.delete(identity);
    return gone.flatMap((identity) =>
      identity.startsWith(user("")) ? [identity.slice(user("").length)] : [],
    );
  }

  /** Those for whom the rule holds at that time. */
  members(rule: Rule, now: number): string[] {
    const holding = this.#users().filter(
      ([, person]) => evaluate(rule, factsOf(person), now).value,
    );
    return holding.map(([userId]) => userId).toSorted();
  }

  /** Of those who have one. */
  values(computation: Computation, now: number): JsonObject {
    const values = this.#users().map(
      ([userId, person]) => [userId, compute(computation, factsOf(person), now).value] as const,
    );
    return Object.fromEntries(values.filter(([, value]) => value !== null));
  }

  userIds(): string[] {
    return this.#users().map(([userId]) => userId);
  }

  #users(): [string, Person][] {
    const persons = [...new Set(this.#known.values())];
    return persons.flatMap((person): [string, Person][] =>
      person.userId === null ? [] : [[person.userId, person]],
    );
  }

  #at(identity: string): Person {
    const person = this.#known.get(identity) ?? { userId: null, traits: new Map(), events: [] };
    this.#known.set(identity, person);
    return person;
  }

  #user(userId: string): Person {
    const person = this.#at(user(userId));
    person.userId ??= userId;
    return person;
  }

  /**
   * A visitor who belongs to another user already is a device that both share: what it does from
   * now on is the new one's.
   */
  #join(userId: string, anonymousId: string): void {
    const visitor = this.#known.get(anonymous(anonymousId));
    if (visitor?.userId === null && !this.#known.has(user(userId))) {
      this.#known.set(user(userId), visitor);
      visitor.userId = userId;
      return;
    }
    const person = this.#user(userId);
    if (visitor?.userId === null) this.#merge(visitor, person);
    this.#known.set(anonymous(anonymousId), person);
  }

  #alias(userId: string, previousId: string): void {
    const person = this.#user(userId);
    const previous = this.#known.get(user(previousId));
    if (previous === undefined && this.#known.has(anonymous(previousId)))
      this.#join(userId, previousId);
    else if (previous === undefined)
      for (const identity of [user(previousId), anonymous(previousId)])
        this.#known.set(identity, person);
    else if (previous !== person) this.#merge(previous, person);
    if (previousId !== userId) this.#user(userId).userId = userId;
  }

  #merge(from: Person, into: Person): void {
    for (const [name, fact] of from.traits) set(into, name, fact);
    into.events.push(...from.events);
    for (const [identity, person] of this.#known)
      if (person === from) this.#known.set(identity, into);
  }
}

const user = (userId: string): string => `user ${userId}`;
const anonymous = (anonymousId: string): string => `anonymous ${anonymousId}`;

function set({ traits }: Person, name: string, fact: Trait): void {
  const before = traits.get(name);
  if (
    before === undefined ||
    fact.at > before.at ||
    (fact.at === before.at && fact.row > before.row)
  )
    traits.set(name, fact);
}

function factsOf({ traits, events }: Person): ProfileFacts {
  const byName = Map.groupBy(events, ({ name }) => name);
  const sorted = [...byName].map(
    ([name, list]) =>
      [
        name,
        list.map(({ fact }) => fact).toSorted((a, b) => a.at - b.at || a.messageId - b.messageId),
      ] as const,
  );
  return { traits, events: new Map(sorted) };
}
