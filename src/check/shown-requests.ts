/**
 * What a report shows of the requests and effects of a check. Nothing in it holds a credential of
 * the user.
 */

import {
  headerPairsWithoutCredentials,
  leftOut,
  urlWithoutCredentials,
} from "../domain/credentials.ts";
import { isAccepted } from "../receiver/request.ts";
import type { Probe, Recorded } from "./probe.ts";
import type { CheckRequest } from "./outcome.ts";

/** A report shows the first and the last requests of a check, not two hundred. */
const maxRequests = 12;
const maxEffects = 10;
/** Of one effect: a receiver may list whole messages. */
const maxEffectLength = 2_000;

export function shownRequests(probe: Probe): CheckRequest[] {
  return chooseShown(probe).map(requestOf);
}

/** Failed ones first. */
export function effectsOf({ found }: Probe): { token: string; wanted: number; found: string[] }[] {
  const all = [...found];
  return [...all.filter(isWrong).toSorted(byCount), ...all.filter((one) => !isWrong(one))]
    .slice(0, maxRequests)
    .map(([token, effects]) => ({
      token,
      wanted: effects.wanted,
      found: effects.found.slice(0, maxEffects).map(shortened),
    }));
}

type Found = [token: string, effects: { wanted: number; found: string[] }];
const isWrong = ([, { found, wanted }]: Found): boolean => found.length !== wanted;
const byCount = ([, one]: Found, [, other]: Found): number => other.found.length - one.found.length;

function shortened(effect: string): string {
  return effect.length <= maxEffectLength
    ? effect
    : `${effect.slice(0, maxEffectLength)}… (${effect.length} characters)`;
}

/**
 * Those of the message that took effect too often or never, or the last that failed; then from
 * both ends.
 */
function chooseShown({ sent, found }: Probe): Recorded[] {
  if (sent.length <= maxRequests) return [...sent];
  const [wrong] = [...found].filter(isWrong).toSorted(byCount);
  // What a check says is about the last that failed.
  const telling =
    wrong === undefined
      ? sent.filter((one) => !isAccepted(one)).slice(-maxRequests / 2)
      : sent.filter((one) => one.tokens.includes(wrong[0])).slice(0, maxRequests / 2);
  const rest = [...sent.slice(0, maxRequests / 4), ...sent.slice(-maxRequests / 4)];
  return sent.filter((one) => telling.includes(one) || rest.includes(one));
}

function requestOf({
  startedAt,
  requestHead,
  spec,
  outcome,
  status,
  durationMs,
  responseHead,
  responseBody,
  error,
}: Recorded): CheckRequest {
  const manners = [
    spec.signature === undefined || spec.signature === "valid" ? "" : `signature ${spec.signature}`,
    spec.slow === true ? "slowly" : "",
    spec.hangUp === undefined ? "" : `hangs up ${spec.hangUp}`,
    spec.copies === undefined ? "" : `one of ${spec.copies} copies`,
  ].filter((one) => one !== "");
  return {
    at: new Date(startedAt).toISOString(),
    head: withoutCredentials(requestHead),
    body: spec.body,
    sentAs: manners.length === 0 ? null : manners.join(", "),
    outcome,
    status,
    durationMs: Math.round(durationMs * 10) / 10,
    answerHead: responseHead,
    answerBody: Buffer.from(responseBody).toString("utf8").slice(0, 8_192),
    error: error?.message ?? null,
  };
}

/** The URL and the headers of a user may let others in. */
function withoutCredentials(head: string): string {
  return head
    .replace(/(?<=^[A-Z]+ )\S+/, urlWithoutCredentials)
    .replace(/^([^:\r\n]+): (.*)$/gm, (line: string, name: string, value: string) => {
      const [[, shown] = ["", value]] = headerPairsWithoutCredentials([[name, value]]);
      return shown === leftOut ? `${name}: ${leftOut}` : line;
    });
}
