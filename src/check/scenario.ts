/**
 * A failed check as a scenario: its requests as `request` steps, and what the receiver must answer
 * and have done. Every run has tokens of its own, so that the receiver does not take its messages
 * for copies of an earlier run's.
 */

import { stringify } from "yaml";
import { urlWithoutCredentials } from "../domain/credentials.ts";
import type { EffectsSource } from "../receiver/effects.ts";
import type { Check } from "./outcome.ts";
import type { Probe, Recorded } from "./probe.ts";
import type { RequestSpec } from "../receiver/request-spec.ts";

type Failed = {
  check: Pick<Check, "id" | "title" | "answers">;
  detail: string;
  probe: Probe;
  options: {
    url: string;
    headers?: Readonly<Record<string, string>> | undefined;
    effects?: EffectsSource | null | undefined;
  };
};

/** The variable of the flag. */
const effectsCommand = "HOOKYARD_EFFECTS_COMMAND";

/** A run of two hundred requests is shown by so many of them. */
const maxSteps = 24;

export function scenarioOf({ check, detail, probe, options }: Failed): string {
  const { headers = {}, effects: given = null } = options;
  // A report is passed on, so its scenarios have no credentials either.
  const url = urlWithoutCredentials(options.url);
  const effects =
    given === null
      ? null
      : "url" in given
        ? { url: urlWithoutCredentials(given.url) }
        : { command: `{{env.${effectsCommand}}}` };
  const sent = probe.sent
    .filter(({ nthTry, nthCopy }) => nthTry === 0 && nthCopy === 0)
    .slice(0, maxSteps);
  const steps: object[] = sent.map((one) => ({
    request: requestOf(one, { url, headers, names: probe.names, answers: check.answers ?? "2xx" }),
  }));
  const counted = [...probe.found].filter(([token]) =>
    sent.some(({ tokens }) => tokens.includes(token)),
  );
  if (effects !== null)
    for (const [token, { wanted }] of counted)
      steps.push({
        expect: {
          effects: { ...effects, token: `{{${probe.names.get(token) ?? token}}}`, times: wanted },
        },
      });
  const usesSecret = sent.some(
    ({ spec }) => spec.signature !== undefined && spec.signature !== "missing",
  );
  const variables = [
    ...(usesSecret ? ["HOOKYARD_SECRET=…"] : []),
    ...Object.keys(headers).map((name) => `${variableOf(name)}=…`),
    ...(effects !== null && "command" in effects && counted.length > 0
      ? [`${effectsCommand}=…`]
      : []),
  ];
  const command = [...variables, "hookyard run", `${check.id}.yaml`].join(" ");
  const note =
    url === options.url ? "" : "# The credentials of the URL are left out: enter them again.\n";
  return `# ${command}\n${note}${stringify({ name: `${check.id}: ${check.title}`, description: detail, steps }, { lineWidth: 0 })}`;
}

type Writing = {
  url: string;
  headers: Readonly<Record<string, string>>;
  names: ReadonlyMap<string, string>;
  answers: NonNullable<Check["answers"]>;
};

function requestOf({ spec }: Recorded, { url, headers, names, answers }: Writing): object {
  const { body, headers: all = {}, ...rest } = spec;
  const own = Object.fromEntries(
    Object.entries(all).map(([name, value]) => [
      name,
      headers[name] === value ? `{{env.${variableOf(name)}}}` : value,
    ]),
  );
  const given: Partial<RequestSpec> = Object.fromEntries(
    Object.entries(rest).filter(([, value]) => value !== undefined),
  );
  return {
    url,
    ...given,
    ...(Object.keys(own).length === 0 ? {} : { headers: own }),
    body: withNames(body, names),
    ...(rest.otherBody === undefined ? {} : { otherBody: withNames(rest.otherBody, names) }),
    ...(answers === "any" || spec.hangUp !== undefined
      ? {}
      : { answers: answersTo(spec, answers) }),
  };
}

/** A check may need a request of the other kind before the one that it is about. */
function answersTo({ signature }: RequestSpec, answers: Writing["answers"]): Writing["answers"] {
  if (signature === "missing") return "refused";
  return answers === "refused" && signature === "valid" ? "2xx" : answers;
}

function withNames(text: string, names: ReadonlyMap<string, string>): string {
  return [...names].reduce((named, [token, name]) => named.replaceAll(token, `{{${name}}}`), text);
}

/** Static headers may hold credentials, so a file names the variable that does. */
function variableOf(header: string): string {
  return `HOOKYARD_${header.toUpperCase().replace(/[^A-Z0-9]+/g, "_")}`;
}
