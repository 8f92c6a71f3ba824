/** What a profile's history says, in words. */

import type { FollowedMessage, IdentityValue } from "../profile-ports.ts";

const longest = 100;

const quoted = (value: string): string => `"${value.length > longest ? `${value.slice(0, longest)}…` : value}"`;
const named = ({ kind, value }: IdentityValue): string => `${kind} ${quoted(value)}`;
const userNamed = (userId: string): string => `userId ${quoted(userId)}`;

function message({ type }: FollowedMessage, { capital = false } = {}): string {
  const article = /^[aeiou]/.test(type) ? "an" : "a";
  return `${capital ? `${article.charAt(0).toUpperCase()}${article.slice(1)}` : article} ${type}`;
}

export function created(by: FollowedMessage, identities: readonly IdentityValue[]): string {
  return `Made when ${message(by)} with ${identities.map(named).join(" and ")} came.`;
}

export function identified(by: FollowedMessage, anonymousId: string, userId: string): string {
  return `${message(by, { capital: true })} said that anonymousId ${quoted(anonymousId)} is ${userNamed(userId)}. What was done before counts for the user.`;
}

export function added(by: FollowedMessage, identity: IdentityValue, userId: string): string {
  return `${message(by, { capital: true })} said that ${named(identity)} is ${userNamed(userId)} too.`;
}

export function merged(by: FollowedMessage, identity: IdentityValue, events: number): string {
  const along = events === 0 ? "" : events === 1 ? ", and one event with it" : `, and ${events} events with it`;
  return `${message(by, { capital: true })} joined the profile of ${named(identity)} to this one${along}.`;
}

export function moved(by: FollowedMessage, anonymousId: string, from: string, to: string): string {
  return `${message(by, { capital: true })} took anonymousId ${quoted(anonymousId)} from ${userNamed(from)} to ${userNamed(to)}: two users on one device. What was done before stays with the first.`;
}
