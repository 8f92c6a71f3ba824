/**
 * Checks the values of a test endpoint; the contract has checked the shapes. And the programs for
 * the usual cases.
 */

import { validateHeaderName, validateHeaderValue } from "node:http";
import type { ForwardMembers, Step, TestEndpoint } from "../../domain/configuration.ts";
import { highestStatus } from "../../domain/http-status.ts";
import { conflict, invalid, isProblem } from "../../domain/problem.ts";
import type { Problem } from "../../domain/problem.ts";
import { checkWebhookUrl } from "../../domain/webhook-rules.ts";
import type { EndpointDraft, EndpointPreset } from "../endpoint-pipeline.ts";
import type { CertificateHost } from "./authority.ts";

const maxNameLength = 200;
const maxPathLength = 200;
/** More than anybody reads. */
const maxSteps = 1_000;
/** Times are written in milliseconds; more than a day is a mistake. */
const maxWaitMs = 86_400_000;
const maxBodyLength = 512 * 1024;
/** Servers and clients allow no more. */
const maxHeaders = 100;
const maxHeaderBytes = 64 * 1024;
const maxCopies = 10;
/** A webhook has 64 connections unless the settings say otherwise. */
const maxHeld = 100;

type Checked = Omit<TestEndpoint, "id" | "createdAt">;

/** The endpoint of a draft, or `present` with the changes of the draft; `isUsed` is of that. */
export function checkDraft(
  draft: Partial<EndpointDraft>,
  present: TestEndpoint | null,
  taken: (path: string) => boolean,
  isUsed = true,
): Checked | Problem {
  const name = (draft.name ?? present?.name ?? "").trim();
  if (name === "") return invalid("A test endpoint needs a name.");
  if (name.length > maxNameLength)
    return invalid(`The name is longer than ${maxNameLength} characters.`);
  const path =
    draft.path === undefined
      ? pathFor(name, present, taken, isUsed)
      : checkPath(draft.path, present, taken);
  if (isProblem(path)) return path;
  const steps = draft.steps === undefined ? (present?.steps ?? []) : draft.steps;
  if (steps.length > maxSteps) return invalid(`A program may have at most ${maxSteps} steps.`);
  for (const [index, step] of steps.entries()) {
    const wrong = findWrong(step);
    if (wrong !== null) return invalid(`Step ${index + 1}: ${wrong}`, { step: index });
  }
  return {
    name,
    path,
    steps: steps.length === 0 ? [{ do: "answer", status: 200 }] : steps,
    after: draft.after ?? present?.after ?? "repeat-last",
    perMessage: draft.perMessage ?? present?.perMessage ?? false,
    inFrontOf: draft.inFrontOf === undefined ? (present?.inFrontOf ?? null) : draft.inFrontOf,
  };
}

function checkPath(
  given: string,
  present: TestEndpoint | null,
  taken: (path: string) => boolean,
): string | Problem {
  const path = given.replace(/^\//, "");
  if (path.length > maxPathLength)
    return invalid(`The path is longer than ${maxPathLength} characters.`);
  if (!/^[a-z0-9_-]+(\/[a-z0-9_-]+)*$/.test(path)) {
    return invalid(
      `"${given}" cannot be a path: use a-z, 0-9, "-" and "_", with single slashes between.`,
    );
  }
  if (path !== present?.path && taken(path))
    return conflict("path_taken", `Another test endpoint is at /${path}.`);
  return path;
}

/** The path of a new endpoint follows its name until somebody uses it or gives it another. */
function pathFor(
  name: string,
  present: TestEndpoint | null,
  taken: (path: string) => boolean,
  isUsed: boolean,
): string {
  if (present === null) return freePath(name, taken);
  const isOwn = present.path !== freePath(present.name, () => false);
  if (isUsed || name === present.name || (isOwn && !/-\d+$/.test(present.path)))
    return present.path;
  return freePath(name, (path) => path !== present.path && taken(path));
}

function freePath(name: string, taken: (path: string) => boolean): string {
  const slug = name
    .normalize("NFKD")
    .toLowerCase()
    .replace(/\p{M}/gu, "")
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-|-$/g, "");
  const base = slug === "" ? "endpoint" : slug;
  let path = base;
  for (let number = 2; taken(path); number += 1) path = `${base}-${number}`;
  return path;
}

function findWrong(step: Step): string | null {
  const { times, chance, status, delayMs, forMs, body, headers = {} } = step;
  if (times !== undefined && (!Number.isSafeInteger(times) || times < 1))
    return "`times` must be a whole number of at least 1.";
  if (chance !== undefined && !(chance >= 0 && chance <= 1))
    return "`chance` must be a number from 0 to 1.";
  if (status !== undefined) {
    if (!(Number.isInteger(status) && status >= 200 && status <= highestStatus))
      return `\`status\` must be a whole number from 200 to ${highestStatus}.`;
    if (step.do === "redirect" && (status < 300 || status > 399))
      return "the `status` of a redirect must be from 300 to 399.";
  }
  if (!isWait(delayMs)) return "`delayMs` must be from 0 to 86400000 (24 hours).";
  if (!isWait(forMs)) return "`forMs` must be from 0 to 86400000 (24 hours).";
  if (body !== undefined && body.length > maxBodyLength) return "`body` is longer than 512 KB.";
  if (isCut(step) && (status === 204 || status === 304 || body === ""))
    return `a 204, a 304 and an empty body have nothing to ${step.do}. Use another status, or leave \`body\` out.`;
  const entries = Object.entries(headers);
  if (entries.length > maxHeaders)
    return `\`headers\` has ${entries.length} headers; ${maxHeaders} is the limit.`;
  if (Buffer.byteLength(JSON.stringify(headers)) > maxHeaderBytes)
    return "`headers` takes more than 64 KB.";
  const wrongHeader = entries.map(findWrongHeader).find((wrong) => wrong !== null);
  const wrong = wrongHeader ?? findWrongTrailer(step);
  return wrong ?? (step.do === "forward" ? findWrongForward(step) : findForwardMember(step));
}

const isCut = ({ do: does }: Step): boolean => does === "truncate" || does === "drip";

function findForwardMember(step: Step): string | null {
  const { to, lose, loseAs, delayAfterMs, copies, together, tamper, hold, order } = step;
  const members: Record<keyof ForwardMembers, unknown> = {
    ...{ to, lose, loseAs, delayAfterMs, copies, together, tamper, hold, order },
  };
  const given = Object.entries(members).find(([, value]) => value !== undefined);
  return given === undefined
    ? null
    : `\`${given[0]}\` belongs to a step that does \`forward\`, and this one does \`${step.do}\`.`;
}

function findWrongForward(step: Step): string | null {
  const { to, lose, loseAs, delayAfterMs, copies = 1, together, hold, order, forMs, status } = step;
  const { times = Infinity } = step;
  if (to === undefined || to === "")
    return "`forward` needs `to`, the full URL of the receiver, for example http://127.0.0.1:3000/webhooks.";
  const wrongUrl = checkWebhookUrl(to);
  if (wrongUrl !== null) return `\`to\`: ${wrongUrl}`;
  if (!isWait(delayAfterMs)) return "`delayAfterMs` must be from 0 to 86400000 (24 hours).";
  if (!(Number.isInteger(copies) && copies >= 1 && copies <= maxCopies))
    return `\`copies\` must be a whole number from 1 to ${maxCopies}.`;
  if (hold !== undefined && !(Number.isInteger(hold) && hold >= 2 && hold <= maxHeld))
    return `\`hold\` must be a whole number from 2 to ${maxHeld}.`;
  if (together !== undefined && copies < 2)
    return "`together` is about copies. Set `copies` to 2 or more, or leave it out.";
  if (order !== undefined && hold === undefined)
    return "`order` is about held requests. Set `hold` to how many, or leave it out.";
  if (forMs !== undefined && hold === undefined)
    return "`forMs` says how long `hold` waits, and there is no `hold`. To delay, use `delayMs` or `delayAfterMs`.";
  if (hold !== undefined && times < hold)
    return `a step that holds ${hold} requests must serve as many: \`times\` must be at least ${hold}, or left out.`;
  if (loseAs !== undefined && lose === undefined)
    return "`loseAs` says how a loss looks. Set `lose` to `answer` or `request`, or leave it out.";
  if (status === undefined && (step.headers !== undefined || step.body !== undefined))
    return "`headers` and `body` replace the receiver's answer together with `status`. Set `status`, or leave them out.";
  return findContradiction(step);
}

/** What a loss leaves nothing of. */
function findContradiction({
  lose,
  loseAs,
  status,
  delayAfterMs,
  copies,
  tamper,
  hold,
}: Step): string | null {
  if (lose === undefined) return null;
  if (status !== undefined)
    return `\`lose: "${lose}"\` sends no answer, so \`status\` has no meaning beside it. Leave one of the two out.`;
  if (loseAs === "timeout" && delayAfterMs !== undefined)
    return '`loseAs: "timeout"` never answers, so `delayAfterMs` has no meaning beside it. Leave one of the two out.';
  if (lose !== "request") return null;
  const unsent = Object.entries({ delayAfterMs, copies, tamper, hold }).find(
    ([, value]) => value !== undefined,
  );
  if (unsent === undefined) return null;
  return `\`lose: "request"\` passes nothing on, so \`${unsent[0]}\` has no meaning beside it. Use \`lose: "answer"\` if the receiver should get the request.`;
}

function isWait(ms: number | undefined): boolean {
  return ms === undefined || (Number.isInteger(ms) && ms >= 0 && ms <= maxWaitMs);
}

function findWrongHeader([name, value]: [string, string]): string | null {
  try {
    validateHeaderName(name);
    validateHeaderValue(name, value);
    return null;
  } catch {
    return `HTTP does not allow the header ${JSON.stringify(name)}.`;
  }
}

/** Node refuses it then too, but only when it writes the answer. */
function findWrongTrailer({ headers = {}, status }: Step): string | null {
  const named = (name: string): string | undefined =>
    Object.entries(headers).find(([given]) => given.toLowerCase() === name)?.[1];
  if (named("trailer") === undefined) return null;
  const isChunked = /(?:^|\W)chunked(?:$|\W)/i.test(named("transfer-encoding") ?? "");
  if (isChunked && status !== 204 && status !== 304) return null;
  return 'the header "Trailer" needs `Transfer-Encoding: chunked` beside it, and a status that allows a body.';
}

const ok: Step = { do: "answer", status: 200 };

/** The address is an example, for the user to replace. */
const passOn: Step = { do: "forward", to: "http://127.0.0.1:3000/" };

/** With a `host`, the fault is the certificate that the HTTPS port shows for that name. */
export const presets: EndpointPreset[] = [
  preset("always-200", "Always 200", ok),
  preset(
    "503-three-times",
    "503 three times, then 200",
    { do: "answer", status: 503, times: 3 },
    ok,
  ),
  preset("times-out", "Times out", { do: "hang" }),
  preset(
    "flaky-30",
    "Flaky: 30 % of the requests get 503",
    { do: "answer", status: 503, chance: 0.3 },
    ok,
  ),
  preset("resets", "Resets the connection", { do: "reset" }),
  preset("closes", "Closes without an answer", { do: "close" }),
  preset("garbage", "Answers with garbage", { do: "garbage" }),
  preset("cut-short", "Cuts the answer short", { do: "truncate" }),
  preset("drips", "Drips the answer over 10 s", { do: "drip" }),
  preset("slow", "Slow: 200 after 4.5 s", { ...ok, delayMs: 4_500 }),
  preset("redirects", "Redirects", { do: "redirect", status: 302 }),
  preset("forward", "Passes on to your receiver", passOn),
  preset(
    "lost-answer",
    "Passes on, and loses the first answer",
    { ...passOn, lose: "answer", times: 1 },
    passOn,
  ),
  preset("delivered-twice", "Passes on twice", { ...passOn, copies: 2 }),
  preset("out-of-order", "Passes on two at a time, the second one first", { ...passOn, hold: 2 }),
  certificatePreset("self-signed.localhost", "Self-signed certificate"),
  certificatePreset("expired.localhost", "Expired certificate"),
  certificatePreset("wrong-host.localhost", "Certificate for another host"),
  certificatePreset("valid.localhost", "Valid certificate"),
];

function preset(name: string, title: string, ...steps: Step[]): EndpointPreset {
  return { name, title, steps, after: "repeat-last" };
}

function certificatePreset(host: CertificateHost, title: string): EndpointPreset {
  return { ...preset(`${host.replace(".localhost", "")}-certificate`, title, ok), host };
}
