/**
 * The receiver of a search: what it shows is asked for here, and it is restarted and reset. Used by
 * the runner, which sends it messages.
 */

import { randomBytes } from "node:crypto";
import { urlWithoutCredentials } from "../domain/credentials.ts";
import { createTrust } from "../engine/deliver/dial.ts";
import { monotonic } from "../engine/real-time.ts";
import {
  askEffects,
  EffectsTooLarge,
  stableEffects,
  type EffectsSource,
} from "../receiver/effects.ts";
import { isAccepted, performRequest } from "../receiver/request.ts";
import { isListening, listensSoon, restart } from "../receiver/restart.ts";
import { createWire, type Wire } from "../receiver/wire.ts";
import { Answer } from "./claims.ts";
import type { Action, Exploration } from "./explore-file.ts";

/** The sentence is for the user. */
export class CannotExplore extends Error {}

/** The receiver has ended, or no longer shows its effects: a finding, once it has worked. */
export class Gone extends CannotExplore {}

/** As long as the pipeline waits for a webhook. */
const timeoutMs = 5_000;
export class ExploredReceiver {
  readonly #given: Exploration["receiver"];
  /** Every token of this search begins with it. */
  readonly prefix = `hy${randomBytes(5).toString("hex")}`;
  wire: Wire;
  /** The longest that effects took until all were there. */
  effectsMs = 0;
  #hasShown = false;

  constructor(given: Exploration["receiver"]) {
    this.#given = given;
    this.wire = this.#newWire();
  }

  close(): void {
    this.wire.close();
  }

  /**
   * A receiver that is still starting gets as long as one that restarts. A command may start it too.
   */
  async mustListen(): Promise<void> {
    const { url, restart: how, reset } = this.#given;
    if ([how, reset].some((action) => action !== null && "run" in action)) return;
    if (await listensSoon(url)) return;
    throw new CannotExplore(
      `Nothing listens at ${urlWithoutCredentials(url)}. Start the receiver first.`,
    );
  }

  /** By the file's `restart`, or because something watches it. */
  async comeBack(why: string): Promise<void> {
    const { restart: how, url, effects } = this.#given;
    /** Null when it is. */
    const whyNotBack = async (): Promise<Gone | null> => {
      if (!(await isListening(url))) return new Gone(why);
      if (effects === null) return null;
      return this.ask(effects, new Map()).then(
        () => null,
        (error: unknown) => {
          if (error instanceof Gone) return error;
          throw error;
        },
      );
    };
    if ((await whyNotBack()) === null) return;
    if (how !== null && "run" in how) await this.act(how, "restart");
    const isThere = await listensSoon(url);
    const reason = await whyNotBack();
    if (reason === null) return;
    // It listens, and has never shown anything: the address is wrong.
    if (isThere && !this.#hasShown) throw reason;
    throw new Gone(
      `${why} The receiver did not come back. If the file has a command at restart:, the search starts the receiver again and finds the schedule that ended it.`,
    );
  }

  async ask(
    source: EffectsSource,
    wanted: ReadonlyMap<string, number>,
    patienceMs?: number,
  ): Promise<Answer> {
    const runs = {
      prefix: this.prefix,
      runOf: (token: string) => /hy[0-9a-f]+x\d+z/.exec(token)?.[0],
    };
    let answer = new Answer("", runs);
    const ask = async (): Promise<string> => {
      const text = await askEffects(source);
      answer = new Answer(text, runs);
      return text;
    };
    try {
      const patience = patienceMs === undefined ? {} : { atMostMs: patienceMs };
      const began = monotonic();
      const effects = await stableEffects({
        ask,
        wanted,
        countIn: () => (token) => answer.count(token),
        ...patience,
      });
      if ([...wanted].every(([token, count]) => (effects.get(token)?.count ?? 0) >= count))
        this.effectsMs = Math.max(this.effectsMs, monotonic() - began);
    } catch (error) {
      if (error instanceof EffectsTooLarge)
        throw new CannotExplore(
          `${error.message} Say how to empty the list: receiver: { reset: … }.`,
        );
      throw new Gone(error instanceof Error ? error.message : String(error));
    }
    this.#hasShown = true;
    return answer;
  }

  async act(action: Action, word: string): Promise<void> {
    if ("url" in action) {
      const wire = createWire({ url: action.url, trust: createTrust(), timeoutMs });
      const [sent] = await performRequest(
        wire,
        { method: action.method, body: "", connection: "close" },
        null,
      );
      wire.close();
      if (sent?.status === null && !(await isListening(this.#given.url)))
        throw new Gone(`Nothing listens at ${this.#given.url} any more.`);
      if (sent === undefined || !isAccepted(sent))
        throw new CannotExplore(
          `The ${word} at ${action.url} ended with ${sent?.status ?? sent?.error?.message ?? "nothing"}, not with 2xx.`,
        );
    } else {
      const listens = action.listens ?? this.#given.url;
      await restart({ run: action.run, listens }).catch((error: Error) =>
        Promise.reject(new CannotExplore(error.message)),
      );
    }
    this.wire.close();
    this.wire = this.#newWire();
  }

  #newWire(): Wire {
    return createWire({ url: this.#given.url, trust: createTrust(), timeoutMs });
  }
}
