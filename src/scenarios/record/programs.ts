/**
 * A test endpoint's program that answers each message as the receiver answered it, however the
 * retries of several fall between each other.
 */

import type { AttemptAnswer } from "../../contract/deliveries.ts";
import type { ScenarioInput } from "../file/scenario-schema.ts";
import { certificates } from "../file/setup-schema.ts";

export type Program = NonNullable<ScenarioInput["endpoints"]>[string];
type Step = Extract<Program, unknown[]>[number];
export type Did = Pick<Step, "do" | "status">;
type OfMessage = { messageId: string; attempts: readonly AttemptAnswer[] };

/** The last answer is repeated: a delivery that was still waiting gets it again. */
const forever = 1_000_000;

export function programOf(
  messages: readonly OfMessage[],
  note: (sentence: string) => void,
): Program {
  const runs = messages.map(({ messageId, attempts }) => ({
    messageId,
    runs: runsOf(attempts.map((attempt) => didOf(attempt, note))),
  }));
  const kinds = new Set(runs.flatMap((one) => one.runs.map(({ did }) => JSON.stringify(did))));
  const only = runs.flatMap((one) => one.runs)[0];
  if (only === undefined) return [{ status: 200 }];
  if (kinds.size === 1) return [only.did];
  const steps = runs.flatMap((one) =>
    one.runs.map(({ did, times }, index): Step => {
      const count = index === one.runs.length - 1 ? forever : times;
      return {
        match: { messageId: one.messageId },
        ...did,
        ...(count === 1 ? {} : { times: count }),
      };
    }),
  );
  return [...steps, { status: 200 }];
}

/** Of a mapping, whose requests need not say which message they are of. */
export function programInOrder(
  attempts: readonly AttemptAnswer[],
  note: (sentence: string) => void,
): Program {
  const runs = runsOf(attempts.map((attempt) => didOf(attempt, note)));
  if (runs.length === 0) return [{ status: 200 }];
  return runs.map(({ did, times }, index): Step =>
    times === 1 || index === runs.length - 1 ? did : { ...did, times },
  );
}

function runsOf(dids: readonly Did[]): { did: Did; times: number }[] {
  const runs: { did: Did; times: number }[] = [];
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
      return { status: Math.max(200, response?.status ?? 500) };
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
