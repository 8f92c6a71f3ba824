/**
 * A test endpoint's program that answers each message as the receiver answered it, however the
 * retries of several fall between each other.
 */

import type { AttemptAnswer } from "../../contract/deliveries.ts";
import { retryAfter } from "../../domain/retry.ts";
import type { ScenarioInput } from "../file/scenario-schema.ts";
import { certificates } from "../file/setup-schema.ts";

export type Program = NonNullable<ScenarioInput["endpoints"]>[string];
type Step = Extract<Program, unknown[]>[number];
export type Did = Pick<Step, "do" | "status" | "headers">;
type OfMessage = { messageId: string; attempts: readonly AttemptAnswer[] };

/** The last answer is repeated: a delivery that was still waiting gets it again. */
const forever = 1_000_000;

export function programOf(
  messages: readonly OfMessage[],
  note: (sentence: string) => void,
): Program {
  const runs = [...Map.groupBy(messages, ({ messageId }) => messageId)].map(
    ([messageId, ofOne]) => ({
      messageId,
      runs: runsOf(
        inOrder(ofOne.flatMap(({ attempts }) => attempts)).map((attempt) => didOf(attempt, note)),
      ),
    }),
  );
  const kinds = new Set(runs.flatMap((one) => one.runs.map(({ did }) => JSON.stringify(did))));
  const only = runs.flatMap((one) => one.runs)[0];
  if (only === undefined) return [{ status: 200 }];
  if (kinds.size === 1) return [only.did];
  const alike = Map.groupBy(
    runs.filter((one) => one.runs.length > 0),
    (one) => JSON.stringify(one.runs),
  );
  const [most = []] = [...alike.values()].toSorted((one, other) => other.length - one.length);
  const common = new Set(most.length > 1 ? most : []);
  const steps = runs
    .filter((one) => !common.has(one))
    .flatMap((one) =>
      one.runs.map(({ did, times }, index): Step => {
        const count = index === one.runs.length - 1 ? forever : times;
        return {
          match: { messageId: one.messageId },
          ...did,
          ...(count === 1 ? {} : { times: count }),
        };
      }),
    );
  const [first] = common;
  return first === undefined
    ? [...steps, { status: 200 }]
    : { steps: [...steps, ...stepsInOrder(first.runs)], perMessage: true };
}

/** In the order in which they started. */
export function inOrder(attempts: readonly AttemptAnswer[]): AttemptAnswer[] {
  return attempts.toSorted((a, b) => Date.parse(a.startedAt) - Date.parse(b.startedAt));
}

/** Of a mapping, whose requests need not say which message they are of. */
export function programInOrder(
  attempts: readonly AttemptAnswer[],
  note: (sentence: string) => void,
): Program {
  const runs = runsOf(attempts.map((attempt) => didOf(attempt, note)));
  return runs.length === 0 ? [{ status: 200 }] : stepsInOrder(runs);
}

type Run = { did: Did; times: number };

/** An endpoint repeats its last step. */
function stepsInOrder(runs: readonly Run[]): Step[] {
  return runs.map(({ did, times }, index) =>
    times === 1 || index === runs.length - 1 ? did : { ...did, times },
  );
}

function runsOf(dids: readonly Did[]): Run[] {
  const runs: Run[] = [];
  for (const did of dids) {
    const last = runs.at(-1);
    if (last !== undefined && JSON.stringify(last.did) === JSON.stringify(did)) last.times += 1;
    else runs.push({ did, times: 1 });
  }
  return runs;
}

export function didOf(
  { outcome, response, error }: AttemptAnswer,
  note: (sentence: string) => void,
): Did {
  switch (outcome) {
    case "success":
    case "http_error":
      return { status: Math.max(200, response?.status ?? 500), ...retryAfterOf(response) };
    case "timeout":
      return { do: "hang" };
    case "tls_error":
      return { status: 200 };
    case "connection_error":
      if (error?.code !== "ECONNRESET")
        note(
          `A connection failed with ${error?.code ?? "an error"}. In the scenario the endpoint resets it.`,
        );
      return { do: "reset" };
  }
}

/** In seconds: a date of the record means nothing beside the `Date` of an endpoint. */
function retryAfterOf(response: AttemptAnswer["response"]): Pick<Did, "headers"> {
  const head = response?.headers.map(([name, value]) => `${name}: ${value}`).join("\n") ?? "";
  const askedMs = retryAfter(head, 0);
  return askedMs === null ? {} : { headers: { "Retry-After": `${Math.ceil(askedMs / 1000)}` } };
}

const certificateByCode: Record<string, (typeof certificates)[number]> = {
  DEPTH_ZERO_SELF_SIGNED_CERT: "self-signed",
  CERT_HAS_EXPIRED: "expired",
  ERR_TLS_CERT_ALTNAME_INVALID: "wrong-host",
};

/** Null for plain HTTP. */
export function certificateOf(
  url: string,
  attempts: readonly AttemptAnswer[],
  note: (sentence: string) => void,
): (typeof certificates)[number] | null {
  const { protocol } = new URL(url);
  if (protocol !== "https:") return null;
  const failed = attempts.find(({ outcome }) => outcome === "tls_error");
  if (failed === undefined) return "valid";
  const code = failed.error?.code ?? "";
  if (certificateByCode[code] === undefined)
    note(`A certificate was refused with ${code}. In the scenario it is a self-signed one.`);
  return certificateByCode[code] ?? "self-signed";
}
