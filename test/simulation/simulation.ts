/**
 * One run: a Hookyard on a simulated machine, what is done to it step by step, and what must be
 * true after each step. All draws come from the seed, so that a run that fails fails again at the
 * same step.
 */

import { createHash, type Hash } from "node:crypto";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { Agent, request as httpRequest } from "node:http";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Database } from "better-sqlite3";
import { createApp, type App } from "../../src/app.ts";
import type { AnswerOf, CallName, InputOf } from "../../src/contract/contract.ts";
import { Broken } from "./broken.ts";
import { checkAll } from "./checks.ts";
import type { Disk } from "./disk.ts";
import { Model } from "./model.ts";
import { Killed, type Platform } from "./platform.ts";
import { Random } from "./random.ts";
import { Receivers } from "./receivers.ts";
import { finish, steps, weights, type StepName } from "./steps.ts";
import { furnish } from "./world.ts";

const hourMs = 3_600_000;

/** A step counts for this much at most, or one jump over a quiet week would be most of a run. */
const longestStepHours = 4;

export type Answer<Name extends CallName> = {
  status: number;
  body: AnswerOf<Name> & { code?: string };
};

/** What the disk refused is tried again within this time, and until then the program may say so. */
const retryMs = 2000;

let portsTried = 0;

type Options = {
  seed: number;
  hours: number;
  platform: Platform;
  disk: Disk;
  log: ((line: string) => void) | null;
};

export class Simulation {
  readonly platform: Platform;
  readonly disk: Disk;
  readonly random: Random;
  readonly receivers: Receivers;
  readonly model = new Model();
  app!: App;
  step = 0;
  hours = 0;
  /** The newest step may have ended deliveries before their time. */
  isHandled = false;
  deaths = 0;
  /** Steps for which the disk still refuses. */
  failingSteps = 0;
  readonly log: Options["log"];
  readonly #options: Options;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 8 });
  readonly #trace: Hash = createHash("sha256");
  #directories: string[] = [];
  #ingestUrl = "";
  #endpointsPorts = { endpoints: 0, endpointsTls: 0 };
  #unexpected: unknown[] = [];
  /** The data file, to be looked at from outside. */
  #file: Database | null = null;

  constructor(options: Options) {
    this.#options = options;
    this.platform = options.platform;
    this.disk = options.disk;
    this.log = options.log;
    this.random = new Random(options.seed, 1);
    this.receivers = new Receivers(options.seed);
    this.platform.outside.add(this.receivers.server);
  }

  /** Throws what is broken. Answers a digest of all that happened: the same for the same seed. */
  async run(): Promise<string> {
    try {
      await this.receivers.start();
      this.#directories.push(mkdtempSync(join(tmpdir(), "hookyard-simulation-")));
      this.#endpointsPorts = {
        endpoints: await this.#unusedPort(),
        endpointsTls: await this.#unusedPort(),
      };
      await this.#start();
      await furnish(this);
      await this.#check();
      while (this.hours < this.#options.hours) await this.#take(this.random.weighted(weights));
      await this.#take("finish");
      await this.#stop();
      return this.#trace.digest("hex").slice(0, 16);
    } finally {
      this.disk.still = false;
      this.disk.kill();
      await this.platform.quiet();
      this.#file?.close();
      this.disk.revive();
      this.platform.revive();
      this.receivers.stop();
      this.#agent.destroy();
      for (const directory of this.#directories)
        rmSync(directory, { recursive: true, force: true });
    }
  }

  /** An unexpected error of the process. What a dead one says is of no interest. */
  report(error: unknown): void {
    const { code } = error as { code?: unknown };
    const isDisks =
      typeof code === "string" && /^SQLITE_(FULL|IOERR)/.test(code) && this.disk.refused > 0;
    if (!this.disk.dead && !(error instanceof Killed) && !isDisks) this.#unexpected.push(error);
  }

  /** Nobody caught it: a process would end. */
  crash(error: unknown): void {
    if (!this.disk.dead && !(error instanceof Killed)) this.#unexpected.push(error);
  }

  /** Null when the disk refused it; refusals by the rules are answers. */
  async call<Name extends CallName>(
    name: Name,
    input: InputOf<Name>,
  ): Promise<Answer<Name> | null> {
    const { status, body } = await this.platform.until(name, this.app.api.call(name, input));
    this.trace(`${name} ${status}`);
    if (status >= 500 && performance.now() - this.disk.refusedAt > retryMs)
      throw new Broken(
        `${name} answers ${status} though nothing is wrong with the disk`,
        "an answer",
        body,
      );
    return status >= 500 ? null : { status, body: body as Answer<Name>["body"] };
  }

  /** For calls that nothing speaks against. */
  async done<Name extends CallName>(name: Name, input: InputOf<Name>): Promise<AnswerOf<Name>> {
    const answer = await this.call(name, input);
    if (answer === null || answer.status >= 400)
      throw new Broken(`${name} is refused`, input, answer);
    return answer.body;
  }

  /** Looks into the process without anything happening on the way. */
  look<Found>(find: (pipeline: App["pipeline"]) => Found): Found {
    this.disk.still = true;
    const found = find(this.app.pipeline);
    this.disk.still = false;
    return found;
  }

  /** Null when no answer came. */
  post(
    path: string,
    writeKey: string,
    body: string,
  ): Promise<{ status: number; body: string } | null> {
    return new Promise((resolve) => {
      const headers = {
        authorization: `Basic ${Buffer.from(`${writeKey}:`).toString("base64")}`,
        "content-length": Buffer.byteLength(body),
      };
      const request = httpRequest(
        `${this.#ingestUrl}${path}`,
        { method: "POST", agent: this.#agent, headers },
        (response) => {
          const chunks: Buffer[] = [];
          response.on("data", (chunk: Buffer) => chunks.push(chunk));
          response.on("error", () => resolve(null));
          response.on("end", () =>
            resolve({
              status: response.statusCode ?? 0,
              body: Buffer.concat(chunks).toString("utf8"),
            }),
          );
        },
      );
      request.on("error", () => resolve(null));
      request.end(body);
    });
  }

  now(): number {
    return this.app.pipeline.clock.state().now;
  }

  /** Part of what must be the same when the seed is run again. */
  trace(line: string): void {
    this.#trace.update(`${line}\n`);
  }

  /** Real time passes, and the process may die of a statement that it comes to. */
  async rest(ms: number): Promise<void> {
    await this.platform.pass(ms);
    if (this.disk.dead) throw new Killed();
  }

  async restart(): Promise<void> {
    this.#file?.close();
    this.#file = null;
    await this.platform.until("the stop", this.app.stop());
    await this.platform.quiet();
    this.disk.revive();
    await this.#start();
  }

  async #take(name: StepName | "finish"): Promise<void> {
    this.step += 1;
    this.log?.(`${this.step} ${name}`);
    this.isHandled = ["retry", "retryAll", "cancel", "destination", "reset", "finish"].includes(
      name,
    );
    try {
      await (name === "finish" ? finish(this) : steps[name](this));
      const ms = this.random.pick([1, 60, 1500, 8000]);
      await this.rest(ms);
      this.model.settled = ms === 8000;
    } catch (error) {
      if (!(error instanceof Killed)) throw error;
      await this.#resurrect();
      this.model.settled = true;
    }
    if (this.failingSteps > 0 && --this.failingSteps === 0) {
      this.disk.failure = null;
      this.model.settled = false;
    }
    await this.#check();
    if (name === "finish" && this.disk.dead) throw new Error("it died in its last step");
  }

  async #check(): Promise<void> {
    const before = this.model.now;
    this.#file ??= this.disk.open(join(this.#directories.at(-1) ?? "", "hookyard.db"));
    const file = this.#file;
    this.look(() => checkAll(this, file));
    const [unexpected] = this.#unexpected.splice(0);
    if (unexpected !== undefined)
      throw new Broken("an unexpected error is reported", "none", unexpected);
    if (before > 0) this.hours += Math.min(longestStepHours, (this.model.now - before) / hourMs);
    this.trace(
      `${this.step} ${this.model.now} ${this.disk.statements} ${this.receivers.received.length}`,
    );
    this.log?.(
      `   clock ${new Date(this.model.now).toISOString()}, ${this.disk.statements} statements, ${this.model.summary()}`,
    );
  }

  /** A new process finds the files as the dead one left them. */
  async #resurrect(): Promise<void> {
    this.disk.kill();
    this.deaths += 1;
    this.log?.("   the process dies");
    if (this.disk.refused > 0) this.model.now = this.model.storedNow;
    this.disk.failure = null;
    this.failingSteps = 0;
    await this.platform.quiet();
    this.receivers.cut();
    await this.platform.quiet();
    this.#file?.close();
    this.#file = null;
    const before = this.#directories.at(-1) ?? "";
    const after = mkdtempSync(join(tmpdir(), "hookyard-simulation-"));
    cpSync(before, after, {
      recursive: true,
      filter: (path) => !path.endsWith("-shm") && !path.endsWith("hookyard.lock"),
    });
    this.disk.revive();
    this.platform.revive();
    rmSync(before, { recursive: true });
    this.#directories = [after];
    this.#unexpected = [];
    if (this.random.chance(0.2)) this.disk.killAfter(this.random.between(1, 120));
    try {
      await this.#start();
      await this.model.reread(this);
      await this.rest(10_000);
    } catch (error) {
      if (!this.disk.dead) throw error;
      await this.#resurrect();
    }
  }

  /** Of those that systems never choose: while the program is dead, nobody is given its port. */
  async #unusedPort(): Promise<number> {
    for (;;) {
      const port = 10_000 + ((process.pid * 7 + portsTried) % 20_000);
      portsTried += 1;
      const server = createServer();
      this.platform.outside.add(server);
      const isFree = await new Promise<boolean>((resolve) => {
        server.once("error", () => resolve(false)).listen(port, "127.0.0.1", () => resolve(true));
      });
      if (isFree) await new Promise((resolve) => server.close(resolve));
      this.platform.outside.delete(server);
      if (isFree) return port;
    }
  }

  /** At the end of a run. The kill that a step has set for a later statement may come now. */
  async #stop(): Promise<void> {
    try {
      await this.platform.until("the stop", this.app.stop());
    } catch (error) {
      if (!(error instanceof Killed)) throw error;
    }
  }

  async #start(): Promise<void> {
    this.app = createApp({
      data: this.#directories.at(-1) ?? "",
      ports: { ingest: 0, ...this.#endpointsPorts },
      clock: { startAt: Date.UTC(2026, 10, 21), mode: "paused" },
      version: "0.0.0",
      report: (error) => this.report(error),
    });
    ({ ingestUrl: this.#ingestUrl } = await this.platform.until("the start", this.app.start()));
  }
}
