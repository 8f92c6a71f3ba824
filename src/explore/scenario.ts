/**
 * A schedule that fails, as an ordinary scenario: `hookyard run` shows the failure again, and is
 * satisfied once the receiver is right.
 */

import { stringify } from "yaml";
import { claimsOf, type Violation } from "./claims.ts";
import type { Action, Exploration } from "./explore-file.ts";
import { requestOf, scheduleTexts, type Schedule } from "./schedule.ts";

type Written = {
  exploration: Exploration;
  schedule: Schedule;
  isSigned: boolean;
  violations: readonly Violation[];
  /** The receiver must have got it of another user before. */
  isAfterOthers: boolean;
  seed: number;
  number: number;
  /** Its name, for the command that runs it. */
  file: string;
};

export function scenarioOf({
  exploration,
  schedule,
  isSigned,
  violations,
  isAfterOthers,
  seed,
  number,
  file,
}: Written): string {
  const { url, restart, reset } = exploration.receiver;
  const text = violations[0]?.text ?? "";
  const words = scheduleTexts(schedule, exploration);
  const stepsOf = (part: Schedule, token: string, texts: readonly string[]): object[] =>
    part.map((step, at) => {
      if (step.do === "wait") return { wait: `${step.ms}ms` };
      const request = requestOf(exploration, part, at, isSigned);
      if (request === null)
        return restart === null ? {} : actionStep(restart, url, "The receiver restarts");
      const { body, ...spec } = request.spec;
      const answers = request.answers === undefined ? {} : { answers: request.answers };
      return {
        request: { url, ...spec, ...answers, body: body.replaceAll("{{token}}", token) },
        name: texts[at],
      };
    });
  const claims = claimsOf(exploration, schedule);
  const same = claims.find((claim) => "sameAs" in claim);
  const first = same?.sameAs ?? (isAfterOthers ? schedule : []);
  const before = stepsOf(
    first,
    "{{token2}}",
    scheduleTexts(first, exploration).map((one) => `${one}, as another user`),
  );
  const { ignore } = exploration.always;
  const expected = claims.map(({ source, ...claim }) => ({
    effects:
      "times" in claim
        ? { ...source, token: claim.token, times: claim.times }
        : {
            ...source,
            token: "{{token}}",
            sameAs: "{{token2}}",
            ...(ignore.length > 0 ? { ignore } : {}),
          },
  }));
  const steps = [
    ...(reset === null ? [] : [actionStep(reset, url, "The receiver forgets everything")]),
    ...before,
    ...stepsOf(schedule, "{{token}}", words),
    ...(expected.length === 0 ? [] : [{ expect: expected }]),
    ...(violations.some(({ kind }) => kind === "gone") ? stillThere(url) : []),
  ];
  const description = `${text} Found by hookyard explore with seed ${seed}, in schedule ${number}.`;
  const command = `${isSigned ? "HOOKYARD_SECRET=… " : ""}hookyard run ${file}`;
  return `# ${command}\n${stringify({ name: `${exploration.name}: ${text}`, description, steps }, { lineWidth: 0, aliasDuplicateObjects: false })}`;
}

/** A receiver may end after its last answer. */
function stillThere(listens: string): object[] {
  return [
    { wait: "500ms" },
    { command: { run: "exit 0", listens }, name: "The receiver is still there" },
  ];
}

function actionStep(action: Action, receiver: string, name: string): object {
  if ("url" in action) return { request: { ...action, answers: "2xx" }, name };
  return { command: { run: action.run, listens: action.listens ?? receiver }, name };
}
