/** A shop whose users' profiles tests look at. */

import { expect } from "vitest";
import type { AnswerOf } from "../../src/contract/contract.ts";
import type { Message, RunningApp, Start } from "./running-app.ts";

type Profile = AnswerOf<"profiles.get">;

/** An app with the source `key`. */
export async function shop(
  start: Start,
  options: Parameters<Start["app"]>[0] = {},
): Promise<RunningApp> {
  const app = await start.app(options);
  await app.source();
  return app;
}

export function batch(app: RunningApp, messages: Message[]): Promise<Message> {
  return app.ingest("/v1/batch", { batch: messages });
}

/**
 * What the profile of a user is once everything is followed; fails when there is not exactly one.
 */
export async function profileOf(app: RunningApp, userId: string): Promise<Profile> {
  await app.settle();
  const { items } = await app.call("profiles.list", { userId });
  expect(items).toHaveLength(1);
  return app.call("profiles.get", { id: items[0]?.id ?? "" });
}

export function at(second: number): string {
  return new Date(Date.UTC(2026, 10, 21, 12, 0, second)).toISOString();
}
