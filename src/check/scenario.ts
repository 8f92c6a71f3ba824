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
  check: Pick<Check, "id" | "title" | "answers" | "atOnce">;
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
  const groups = groupsOf(probe.sent, check.atOnce).slice(0, maxSteps);
  const sent = groups.flat();
  const { names } = probe;
  const writing = { url, headers, names, answers: check.answers ?? "2xx" };
  const steps: object[] = groups.map((group) => ({ request: requestOf(group, writing) }));
  const isAlone = (group: readonly Recorded[]): boolean => group.length === 1;
  const counted = new Map([
    ...groups.filter(isAlone).flatMap((group) => countedIn(group, probe)),
    ...groups
      .filter((group) => !isAlone(group))
      .flatMap((group) => countedIn(group, probe))
      .slice(0, maxCounted),
  ]);
  if (effects !== null)
    for (const [token, times] of counted)
      steps.push({ expect: { effects: { ...effects, token, times } } });
  const usesSecret = sent.some(
    ({ spec }) => spec.signature !== undefined && spec.signature !== "missing",
  );
  const variables = [
    ...(usesSecret ? ["HOOKYARD_SECRET=…"] : []),
    ...Object.keys(headers).map((name) => `${variableOf(name)}=…`),
    ...(effects !== null && "command" in effects && counted.size > 0
      ? [`${effectsCommand}=…`]
      : []),
  ];
  const command = [...variables, "hookyard run", `${check.id}.yaml`].join(" ");
  const note =
    url === options.url ? "" : "# The credentials of the URL are left out: enter them again.\n";
  return `# ${command}\n${note}${stringify({ name: `${check.id}: ${check.title}`, description: detail, steps }, { lineWidth: 0 })}`;
}

/** What was sent at the same time; a request of its own is a group too. */
function groupsOf(sent: readonly Recorded[], lanes = 1): Recorded[][] {
  const groups: Recorded[][] = [];
  for (const one of sent.filter(({ nthTry }) => nthTry === 0)) {
    const last = groups.at(-1);
    const isOfLast = one.atOnce > 1 ? one.nthCopy > 0 : last?.[0]?.atOnce === 1;
    if (isOfLast && last !== undefined && last.length < Math.max(lanes, one.atOnce)) last.push(one);
    else if (one.nthCopy === 0) groups.push([one]);
  }
  return groups;
}

/** Of messages at the same time: a run waits three seconds for each that does not show. */
const maxCounted = 3;

/** How often which text must take effect. */
function countedIn(group: readonly Recorded[], { found, names }: Probe): [string, number][] {
  const nameOf = (token: string): string => `{{${names.get(token) ?? token}}}`;
  const effects = group.flatMap(({ tokens }, nth) =>
    tokens.flatMap((token) => {
      const one = found.get(token);
      return one === undefined ? [] : [{ token, nth, wanted: one.wanted, is: one.found.length }];
    }),
  );
  if (group.length === 1) return effects.map(({ token, wanted }) => [nameOf(token), wanted]);
  const name = nameOf(group[0]?.tokens[0] ?? "");
  const sum = (of: "wanted" | "is"): number => effects.reduce((all, one) => all + one[of], 0);
  if (sum("is") < sum("wanted")) return [[name, sum("wanted")]];
  return effects
    .filter(({ wanted, is }) => wanted !== is)
    .slice(0, maxCounted)
    .map(({ nth, wanted }) => [`${name}-${nth + 1}`, wanted]);
}

type Writing = {
  url: string;
  headers: Readonly<Record<string, string>>;
  names: ReadonlyMap<string, string>;
  answers: NonNullable<Check["answers"]>;
};

function requestOf(group: readonly Recorded[], { url, headers, names, answers }: Writing): object {
  const [{ spec }] = group as [Recorded];
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
    ...(group.length === 1
      ? { body: withNames(body, names) }
      : { copies: group.length, body: withNames(body, names, "-{{copy}}") }),
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

/** With `after`, each copy has a text of its own. */
function withNames(text: string, names: ReadonlyMap<string, string>, after = ""): string {
  return [...names].reduce(
    (named, [token, name]) => named.replaceAll(token, `{{${name}}}${after}`),
    text,
  );
}

/** Static headers may hold credentials, so a file names the variable that does. */
function variableOf(header: string): string {
  return `HOOKYARD_${header.toUpperCase().replace(/[^A-Z0-9]+/g, "_")}`;
}
