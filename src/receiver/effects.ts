/**
 * What a receiver says it has done. Asks a URL or a command, and counts how often a token took
 * effect. Called by the expectations of scenarios and by the check of a receiver; never starts a
 * command that the caller did not give.
 */

import { exec } from "node:child_process";
import { get as getHttp, type IncomingMessage } from "node:http";
import { get as getHttps } from "node:https";
import { isNativeError } from "node:util/types";
import { urlWithoutCredentials } from "../domain/credentials.ts";
import { isDeeperThan, isObject, type Json } from "../domain/json.ts";
import { withLoopback } from "../engine/deliver/dial.ts";
import { monotonic, nextTurn, startTimer } from "../engine/real-time.ts";

export type EffectsSource = { url: string } | { command: string };

export type Effects = {
  count: number;
  /** The lines, or the elements as JSON. */
  found: string[];
};

/** How often a receiver is asked until a number is stable, and for how long. */
const everyMs = 250;
const threeSeconds = 3_000;

/**
 * One question: a receiver that lists its effects needs milliseconds, unless its machine is busy.
 */
const answerMs = 30_000;
/** A turn of the event loop reads it, and another counts in it. */
const maxAnswer = 4 * 1024 * 1024;

/**
 * An effect is an element of a JSON array that contains the token, the innermost one where arrays
 * are nested; in any other text, a line. A JSON document that contains the token outside of its
 * arrays is one line. Letters and digits around a token belong to another token: `user-10` is not
 * `user-1`.
 */
export function countEffects(text: string, token: string): Effects {
  return countingIn(text)(token);
}

/** For many tokens the text is read once. */
function countingIn(text: string): (token: string) => Effects {
  const document = parseJson(text);
  const lines = document === undefined ? text.split(/\r\n|\r|\n/) : [];
  return (token) => {
    if (token === "") return { count: 0, found: [] };
    const contains = containing(token);
    const found = document === undefined ? lines.filter(contains) : effectsIn(document, contains);
    return { count: found.length, found };
  };
}

export type Contains = (text: string) => boolean;

/** Without a pattern of the token: compiling one costs more than reading most answers. */
function containing(token: string): Contains {
  return (text) => {
    for (let at = text.indexOf(token); at !== -1; at = text.indexOf(token, at + 1)) {
      const end = at + token.length;
      // Two, because some letters are two units long.
      const before = text.slice(Math.max(0, at - 2), at);
      if (!letterAtEnd.test(before) && !letterAtStart.test(text.slice(end, end + 2))) return true;
    }
    return false;
  };
}

const letterAtEnd = /[\p{L}\p{N}]$/u;
const letterAtStart = /^[\p{L}\p{N}]/u;

/** What is nested deeper is no list of effects, and too deep to be searched. */
const deepest = 1000;

export function parseJson(text: string): Json | undefined {
  try {
    // Some write a byte order mark before it.
    const value = JSON.parse(text.replace(/^\uFEFF/, "")) as Json;
    return isDeeperThan(deepest, value) ? undefined : value;
  } catch {
    return undefined;
  }
}

function effectsIn(document: Json, contains: Contains): string[] {
  const elements = elementsIn(document, contains).map((element) => JSON.stringify(element));
  return elements.length === 0 && isMentioned(document, contains)
    ? [JSON.stringify(document)]
    : elements;
}

function elementsIn(value: Json, contains: Contains): Json[] {
  if (isObject(value))
    return Object.values(value).flatMap((member) => elementsIn(member, contains));
  if (!Array.isArray(value)) return [];
  return value
    .filter((element) => isMentioned(element, contains))
    .flatMap((element) => effectsOfElement(element, contains));
}

/**
 * An element that has the token itself is one effect, with all its tags; a group of orders that
 * have it is several.
 */
function effectsOfElement(element: Json, contains: Contains): Json[] {
  const isRow = Array.isArray(element) && element.some(isPlain);
  const inner = isRow
    ? element.flatMap((cell) => elementsIn(cell, contains))
    : elementsIn(element, contains);
  const isGroup =
    inner.some((one) => !isPlain(one)) ||
    (inner.length > 0 && !isMentioned(withoutArrays(element), contains));
  return isGroup ? inner : [element];
}

function isPlain(value: Json): boolean {
  return value === null || typeof value !== "object";
}

export function isMentioned(value: Json, contains: Contains): boolean {
  if (Array.isArray(value)) return value.some((element) => isMentioned(element, contains));
  if (isObject(value))
    return Object.entries(value).some(
      ([name, member]) => contains(name) || isMentioned(member, contains),
    );
  return contains(String(value));
}

function withoutArrays(value: Json): Json {
  if (Array.isArray(value)) return null;
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, withoutArrays(member)]),
  );
}

/** The receiver works, and its list has become too long to be read. */
export class EffectsTooLarge extends Error {}

/** Rejects with a sentence for the user when there is no such answer. */
export async function askEffects(source: EffectsSource): Promise<string> {
  return "url" in source ? askUrl(source.url) : askCommand(source.command);
}

async function askUrl(url: string): Promise<string> {
  const shown = urlWithoutCredentials(url);
  const response = await requestOf(url, shown);
  const { statusCode = 0, headers } = response;
  if (statusCode < 200 || statusCode > 299) {
    response.destroy();
    const location =
      headers.location === undefined
        ? ""
        : ` It redirects to ${headers.location}, which is not followed.`;
    throw new Error(
      `${shown} answered ${statusCode} when it was asked for effects, not 200.${location}`,
    );
  }
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      length += chunk.byteLength;
      if (length > maxAnswer) break;
    }
  } catch (error) {
    throw new Error(`The answer of ${shown} about effects ended early: ${wordsOf(error)}.`, {
      cause: error,
    });
  }
  if (length > maxAnswer)
    throw new EffectsTooLarge(
      `${shown} answered with more than 4 MB when it was asked for effects.`,
    );
  return Buffer.concat(chunks).toString("utf8");
}

/**
 * A connection of its own each time: a receiver that is being stopped must not wait for an idle
 * one.
 */
function requestOf(url: string, shown: string): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const get = url.startsWith("https:") ? getHttps : getHttp;
    const request = get(url, { agent: false, ...withLoopback(new URL(url).hostname) }, resolve);
    const deadline = startTimer(answerMs, () =>
      request.destroy(new Error(`no complete answer within ${answerMs / 1000} s`)),
    );
    request.once("error", (error) =>
      reject(
        new Error(`${shown} cannot be asked for effects: ${wordsOf(error)}.`, { cause: error }),
      ),
    );
    request.once("close", () => deadline.cancel());
  });
}

function askCommand(command: string): Promise<string> {
  return new Promise((resolve, reject) => {
    exec(
      command,
      { timeout: answerMs, maxBuffer: maxAnswer, encoding: "utf8" },
      (error, output, complaint) => {
        if (error === null) resolve(output);
        else if ("code" in error && String(error.code) === "ERR_CHILD_PROCESS_STDIO_MAXBUFFER")
          reject(new EffectsTooLarge("The command for effects printed more than 4 MB."));
        else {
          const [reason = ""] = complaint.trim().split("\n");
          const how =
            error.killed === true
              ? `had not ended after ${answerMs / 1000} s`
              : `ended with ${error.code ?? error.signal}`;
          reject(
            new Error(
              // It may have credentials, and reports are passed on.
              `The command for effects ${how}${reason === "" ? "." : `: ${reason}`}`,
              { cause: error },
            ),
          );
        }
      },
    );
  });
}

function wordsOf(error: unknown): string {
  // Jest gives tests other globals than Node's errors have.
  if (!isNativeError(error)) return String(error);
  // Of an attempt at several addresses, the message is empty.
  const [first] = "errors" in error && Array.isArray(error.errors) ? error.errors : [];
  return isNativeError(first) ? first.message : error.message;
}

type Asking = {
  ask: () => Promise<string>;
  /** For each token, how many effects are still waited for. */
  wanted: ReadonlyMap<string, number>;
  /** Of all tokens, in place of the numbers of `wanted`. */
  isEnough?: (effects: ReadonlyMap<string, Effects>) => boolean;
  /** For many tokens there may be a quicker way. */
  countIn?: (text: string) => (token: string) => Effects;
  atMostMs?: number;
  /** So long while there is more or less of this in the answer: the receiver is at work. */
  whileAtWorkMs?: number;
  workIn?: (text: string) => number;
  /**
   * How long the numbers have to stay the same; as long as two answers when left out. Null: the
   * first that are enough count.
   */
  settleMs?: number | null;
  time?: { now(): number; pause(ms: number): Promise<void> };
};

const realTime = {
  now: monotonic,
  pause: (ms: number) => new Promise<void>((resolve) => startTimer(ms, resolve)),
};

/**
 * Asks until the numbers have stayed the same for `settleMs` and are enough. Gives up `atMostMs` after the last sign of work, and after `whileAtWorkMs` at the latest. The last answer counts.
 */
export async function stableEffects({
  ask,
  wanted,
  isEnough = (effects) =>
    [...effects].every(([token, { count }]) => count >= (wanted.get(token) ?? 0)),
  countIn = countingIn,
  atMostMs = threeSeconds,
  whileAtWorkMs = atMostMs,
  workIn = (text) => text.length,
  settleMs = 0,
  time = realTime,
}: Asking): Promise<Map<string, Effects>> {
  const began = time.now();
  let [sameSince, changedAt] = [began, began];
  for (let before = null as { work: number; counts: string } | null; ;) {
    const text = await ask();
    const count = countIn(text);
    const effects = new Map<string, Effects>();
    for (const token of wanted.keys()) {
      await nextTurn();
      effects.set(token, count(token));
    }
    const work = workIn(text);
    const counts = [...effects.values()].map((each) => each.count).join();
    const now = time.now();
    const isSame = counts === before?.counts;
    if (!isSame) sameSince = now;
    if (before !== null && work !== before.work) changedAt = now;
    const isEnded = isEnough(effects)
      ? settleMs === null || (isSame && now - sameSince >= settleMs)
      : now + everyMs > changedAt + atMostMs;
    if (isEnded || now + everyMs > began + Math.max(atMostMs, whileAtWorkMs)) return effects;
    before = { work, counts };
    await time.pause(everyMs);
  }
}
