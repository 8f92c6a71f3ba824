import { readFile } from "node:fs/promises";
import { readFileSync } from "node:fs";
import type { AnswerOf, CallName, InputOf } from "../contract/contract.ts";
import type { ScenarioExpectationResult, ScenarioReport } from "../contract/scenarios.ts";
import type { Json } from "../domain/json.ts";
import { checkScenario, readScenario } from "../scenarios/file/read-scenario.ts";
import type {
  AdvanceInput,
  ChangeInput,
  CreateInput,
  DeleteInput,
  DeliveriesInput,
  ExpectInput,
  PostInput,
  ScenarioInput,
  SendInput,
  ReadScenario,
} from "../scenarios/file/scenario-schema.ts";
import type { Path } from "../scenarios/file/yaml-places.ts";
import { failureLines } from "../scenarios/report/text.ts";
import { findUnreachable } from "../scenarios/run/reachable.ts";
import { startTimeOf, runRead, takeStep } from "../scenarios/run/run-scenario.ts";
import type { Session } from "../scenarios/run/session.ts";
import { startSession } from "../scenarios/run/set-up.ts";
import { startInMemory } from "../app.ts";
import { typedCalls, type RunningPipeline } from "../scenarios/run/pipeline.ts";

/** What a scenario file has above its steps: `docs/scenarios.md` has all of it. */
export type Setup = Omit<ScenarioInput, "name" | "description" | "steps">;
export type SendOptions = Omit<SendInput, "send" | "name">;
type Step = ScenarioInput["steps"][number];
type PostOptions = Omit<PostInput, "post" | "name">;

export type Hookyard = {
  /** Where client libraries send to. */
  readonly ingestUrl: string;
  /** Of the source; of the first one when left out. */
  writeKey(source?: string): string;
  /**
   * A message is sent as a call of its own, a list as one batch. Rejects when ingest gives another
   * answer than expected.
   */
  send(message: SendInput["send"], options?: SendOptions): Promise<void>;
  /** A body, sent unchanged, also an invalid one. */
  post(body: string, options?: PostOptions): Promise<void>;
  /**
   * Moves the clock: by `"90m"`, to the next due time (`"next-due"`), or until nothing is due
   * (`"idle"`).
   */
  advance(how: AdvanceInput["advance"]): Promise<void>;
  /** Changes what was set up. */
  change(change: ChangeInput): Promise<void>;
  /** Creates audiences and computed traits, which send their first sync immediately. */
  create(things: CreateInput): Promise<void>;
  /** Lets an audience or computed trait send its differences. */
  sync(name: string): Promise<void>;
  /** A deletion request. */
  delete(users: DeleteInput["delete"]): Promise<void>;
  /** Messages of these suppressed users are accepted again. */
  lift(users: string[]): Promise<void>;
  retry(deliveries: DeliveriesInput): Promise<void>;
  cancel(deliveries: DeliveriesInput): Promise<void>;
  /**
   * Rejects with `ExpectationFailed`, whose message shows expected against actual and the attempts
   * behind it.
   */
  expect(expectation: ExpectInput["expect"]): Promise<void>;
  /**
   * For what the test does itself, such as sending through a client library: waits until nothing
   * runs while the clock is paused, and lets `within` and `never` count from its beginning.
   */
  during<Result>(run: () => Promise<Result>): Promise<Result>;
  /** Any call of the control API. */
  call<Name extends CallName>(name: Name, input: InputOf<Name>): Promise<AnswerOf<Name>>;
  /** Ends it; rejects when there was an unexpected error inside. */
  stop(): Promise<void>;
  /** The same: `await using hookyard = await start(…)` ends it with the block, failed or not. */
  [Symbol.asyncDispose](): Promise<void>;
};

/** One or several expectations that were not met. */
export class ExpectationFailed extends Error {
  override name = "ExpectationFailed";
  readonly expectations: readonly ScenarioExpectationResult[];

  constructor(expectations: readonly ScenarioExpectationResult[]) {
    super(
      expectations
        .map((one) => [`expect ${one.text}`, ...failureLines(one)].join("\n  "))
        .join("\n"),
    );
    this.expectations = expectations;
  }
}

/** Rejects when the setup is wrong, or a receiver at one of its URLs is not there. */
export async function start(setup: Setup = {}): Promise<Hookyard> {
  refuseNoSetup(setup);
  const read = readDefinition(setup, [{ advance: "0s" }]);
  // The test may change its object later.
  const own = structuredClone(setup);
  const unreachable = await findUnreachable(read);
  if (unreachable.length > 0) throw new Error(unreachable.map(({ message }) => message).join("\n"));
  const pipeline = await startPipeline({ startAt: startTimeOf(read.scenario) });
  try {
    const session = await startSession(pipeline, read);
    if ("problem" in session) throw new Error(session.problem.message);
    const { ingestUrl } = await pipeline.call("about.get", {});
    const keys = await writeKeysOf(session);
    return createHookyard({ setup: own, session, ingestUrl, keys, stop: () => pipeline.stop() });
  } catch (error) {
    await pipeline.stop();
    throw error;
  }
}

async function writeKeysOf(session: Session): Promise<Map<string, string>> {
  const { items } = await session.pipeline.call("sources.list", {});
  return new Map(items.map(({ name, writeKey }) => [name, writeKey]));
}

type Parts = {
  setup: Setup;
  session: Session;
  ingestUrl: string;
  keys: Map<string, string>;
  stop(): Promise<void>;
};

function createHookyard({ setup, session, ingestUrl, keys, stop }: Parts): Hookyard {
  let writeKeys = keys;
  let stopped: Promise<void> | null = null;
  /** What was changed and created since the start: later steps may name it. */
  let before: Step[] = [];

  const end = (): Promise<void> => (stopped ??= stop());

  function refuseStopped(): void {
    if (stopped !== null) throw new Error("This Hookyard has been stopped.");
  }

  async function take(step: Step): Promise<void> {
    refuseStopped();
    refuseUndefined(step);
    const { problem, expectations } = await takeStep(
      readDefinition(setup, [...before, step]),
      session,
      before.length,
    );
    if (problem !== null) throw new Error(problem);
    const failed = expectations.filter(({ passed }) => !passed);
    if (failed.length > 0) throw new ExpectationFailed(failed);
  }

  return {
    ingestUrl,
    writeKey(source) {
      const name = source ?? session.sourceNames()[0] ?? "";
      const key = writeKeys.get(name);
      if (key === undefined)
        throw new Error(`There is no source ${name}. Known: ${session.sourceNames().join(", ")}.`);
      return key;
    },
    send: (message, options = {}) => take({ send: message, ...options }),
    post: (body, options = {}) => take({ post: body, ...options }),
    advance: (how) => take({ advance: how }),
    async change(change) {
      const made = structuredClone(change);
      await take({ change });
      before = [...before.flatMap((step) => besides(step, made)), { change: made }];
      writeKeys = await writeKeysOf(session);
    },
    async create(things) {
      const made = structuredClone(things);
      await take({ create: things });
      before.push({ create: made });
    },
    sync: (name) => take({ sync: name }),
    delete: (users) => take({ delete: users }),
    lift: (users) => take({ lift: users }),
    retry: (deliveries) => take({ retry: deliveries }),
    cancel: (deliveries) => take({ cancel: deliveries }),
    expect: (expectation) => take({ expect: expectation }),
    async during(run) {
      refuseStopped();
      return session.act(run);
    },
    async call(name, input) {
      refuseStopped();
      return session.pipeline.call(name, input);
    },
    stop: end,
    [Symbol.asyncDispose]: end,
  };
}

/** The step without the endpoints that a later change replaces; an empty list when it changed only these. */
function besides(step: Step, { endpoints: replaced = {} }: ChangeInput): Step[] {
  if (!("change" in step)) return [step];
  const { endpoints = {}, ...others } = step.change;
  const left = Object.entries(endpoints).filter(([name]) => !(name in replaced));
  if (left.length > 0) return [{ change: { ...others, endpoints: Object.fromEntries(left) } }];
  return Object.keys(others).length === 0 ? [] : [{ change: others }];
}

/**
 * A file cannot have undefined. Where it would be left out, an expectation would hold, and more
 * deliveries would be chosen.
 */
function refuseUndefined(step: Step): void {
  const [[verb, value] = ["", null]] = Object.entries(step) as [string, unknown][];
  if (value === undefined) throw new Error(`${verb}: ${verb} is missing.`);
  const path = claims.has(verb) ? pathOfUndefined(value, [verb]) : null;
  if (path !== null) throw new Error(withPlace(`${path.at(-1)} is undefined.`, path));
}

const claims = new Set(["expect", "retry", "cancel"]);

function pathOfUndefined(value: unknown, path: Path): Path | null {
  if (value === null || typeof value !== "object") return null;
  for (const [name, member] of Object.entries(value)) {
    const place = [...path, Array.isArray(value) ? Number(name) : name];
    if (member === undefined && !Array.isArray(value)) return place;
    const inside = pathOfUndefined(member, place);
    if (inside !== null) return inside;
  }
  return null;
}

/** A file's steps would be left out, and with them everything that it expects. */
function refuseNoSetup(setup: object | string | null): void {
  if (typeof setup !== "object" || setup === null || Array.isArray(setup))
    throw new Error("A setup must be an object, such as { endpoints: {}, destinations: {} }.");
  if ("steps" in setup && setup.steps !== undefined)
    throw new Error(
      "steps: start does not take them. Call send, advance and expect, or runFile for a file.",
    );
}

/** Errors are reported by their place in the object, as there are no lines. */
function readDefinition(setup: Setup, steps: Step[]): ReadScenario {
  const placed = (path: Path) => ({ line: 1, column: 1, path });
  const value = { name: "A test", ...setup, steps } as Json;
  const read = checkScenario({ value, placeOf: placed, placeOfName: placed });
  if (!("problems" in read)) return read;
  throw new Error(
    read.problems
      .map((problem) => withPlace(problem.message, (problem as { path?: Path }).path ?? []))
      .join("\n"),
  );
}

/**
 * `destinations.Warehouse.webhooks[0]: A webhook has either an endpoint, by its name, or a url.`
 */
function withPlace(message: string, path: Path): string {
  const own = path[0] === "steps" ? path.slice(2) : path;
  const place = own
    .map((key) => (typeof key === "number" ? `[${key}]` : `.${key}`))
    .join("")
    .replace(/^\./, "");
  return place === "" ? message : `${place}: ${message}`;
}

/** Runs a scenario file as `hookyard run` does, and returns its report, passed or failed. */
export async function runFile(
  file: string,
  { seed }: { seed?: number } = {},
): Promise<ScenarioReport> {
  return runRead({
    read: readScenario(await readFile(file, "utf8")),
    file,
    seed,
    start: startPipeline,
  });
}

// Two levels up from here, both in the sources and in the built package.
const { version } = JSON.parse(
  readFileSync(new URL("../../package.json", import.meta.url), "utf8"),
) as { version: string };

export async function startPipeline({ startAt }: { startAt: number }): Promise<RunningPipeline> {
  const unexpected: unknown[] = [];
  const app = await startInMemory({ startAt, version, report: (error) => unexpected.push(error) });
  return {
    ...typedCalls(app.api.call),
    async stop() {
      await app.stop();
      if (unexpected.length > 0) throw new AggregateError(unexpected, "Hookyard has a bug.");
    },
  };
}
