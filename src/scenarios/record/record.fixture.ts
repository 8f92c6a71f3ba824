/** A pipeline of its own for each test of a file, and the scenario of what happened in it. */

import { afterEach, beforeEach, expect } from "vitest";
import { startInMemory } from "../../app.ts";
import type { AnswerOf, CallName, InputOf } from "../../contract/contract.ts";
import { readScenario } from "../file/read-scenario.ts";
import { typedCalls, type StartPipeline } from "../run/pipeline.ts";
import { runRead } from "../run/run-scenario.ts";

export const startAt = Date.parse("2026-11-21T09:00:00Z");
let own: Awaited<ReturnType<typeof startInMemory>>;

export function startForEach(): void {
  beforeEach(async () => {
    own = await startInMemory({ startAt, version: "0.0.0" });
  });
  afterEach(() => own.stop());
}

export const pipeline = () => own;

export const start: StartPipeline = async (options) => {
  const app = await startInMemory({ ...options, version: "0.0.0" });
  return { ...typedCalls(app.api.call), stop: app.stop };
};
export const call = <Name extends CallName>(
  name: Name,
  input: InputOf<Name>,
): Promise<AnswerOf<Name>> => typedCalls(own.api.call).call(name, input);

export async function send(path: string, body: object | string, key = "key-shop"): Promise<void> {
  const authorization = `Basic ${Buffer.from(`${key}:`).toString("base64")}`;
  await fetch(`${own.ingestUrl}${path}`, {
    method: "POST",
    headers: { authorization },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
  await call("pipeline.settle", {});
}

export async function allMessages(): Promise<string[]> {
  return (await call("messages.list", { limit: 1000 })).items.map(({ id }) => id);
}

/** The scenario of everything that there is, or of some, which must run and pass. */
export async function recorded(
  name?: string,
  messageIds?: string[],
): Promise<{ text: string; notes: string[] }> {
  const recording = await call("scenarios.record", {
    messageIds: messageIds ?? (await allMessages()),
    ...(name === undefined ? {} : { name }),
  });
  const report = await runRead({ read: readScenario(recording.text), start });
  expect(report.problems).toEqual([]);
  expect(report.steps.filter(({ state }) => state !== "passed")).toEqual([]);
  expect(report.steps.at(-1)?.expectations.length).toBeGreaterThan(0);
  return recording;
}
