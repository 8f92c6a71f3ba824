/**
 * A schedule: what happens to a receiver, one action after the other. Drawn from a seed; the same
 * seed and number give the same one.
 */

import { drawUnit } from "../domain/random.ts";
import type { Exploration, Limit } from "./explore-file.ts";
import type { RequestSpec, WantedAnswers } from "../receiver/request-spec.ts";

export type Step =
  | { do: "send"; message: number }
  /** The sender does not get the answer, and sends the message again later. */
  | {
      do: "lose";
      message: number;
      hangUp: "at-first-byte" | "when-sent" | "while-working";
      waitMs: number;
    }
  | { do: "together"; message: number; copies: number; apartMs: number }
  | { do: "wait"; ms: number }
  | { do: "restart" };
export type Schedule = readonly Step[];

export type Drawn = {
  number: number;
  schedule: Schedule;
  covers: readonly string[];
  order: readonly number[];
};

/** Beside these, more would mostly hide each other. */
const maxFaults = 3;

export function draw(
  { messages, vary }: Pick<Exploration, "messages" | "vary">,
  seed: number,
  number: number,
): Drawn {
  let drawn = 0;
  const unit = (): number => drawUnit(seed, number, (drawn += 1));
  const below = (count: number): number => Math.floor(unit() * count);
  const pick = <Value>(values: readonly Value[]): Value | undefined => values[below(values.length)];

  const order = orderOf(
    messages.length,
    vary.order && number > 0,
    number > 0 && unit() < 0.25,
    unit,
  );
  const steps: Step[] = order.map((message) => ({ do: "send", message }));
  const covers: string[] = [];
  const cover = (fault: string, message: number): void =>
    void covers.push(`${fault} ${message} ${order.indexOf(message)}`);
  const plain = ({ of }: Limit): number[] =>
    order.filter((message) => of.has(message) && first(message)?.do === "send");
  const first = (message: number): Step | undefined =>
    steps.find((step) => "message" in step && step.message === message);
  const placeOf = (message: number): number =>
    steps.findIndex((step) => "message" in step && step.message === message);
  const insert = (step: Step, from: number): void =>
    void steps.splice(from + below(steps.length - from + 1), 0, step);

  const faults: Record<string, () => void> = {
    lose() {
      const message = pick(plain(vary.lostAnswers));
      if (message === undefined) return;
      const waitMs = pick([0, ...vary.delays]) ?? 0;
      const hangUp = unit() < 0.6 ? "at-first-byte" : waitMs === 0 ? "when-sent" : "while-working";
      const at = placeOf(message);
      steps[at] = { do: "lose", message, hangUp, waitMs: hangUp === "while-working" ? waitMs : 0 };
      insert({ do: "send", message }, at + 1);
      cover("lost answer", message);
    },
    together() {
      const message = pick(plain(vary.together));
      if (message === undefined) return;
      steps[placeOf(message)] = {
        do: "together",
        message,
        copies: 2,
        apartMs: unit() < 0.5 ? 0 : (pick(vary.delays) ?? 0),
      };
      cover("copies together", message);
    },
    duplicate() {
      const message = pick(order.filter((one) => vary.duplicates.of.has(one)));
      if (message === undefined) return;
      insert({ do: "send", message }, placeOf(message) + 1);
      cover("duplicate", message);
    },
    restart() {
      const lost = steps.find((step) => step.do === "lose");
      const at =
        lost !== undefined && unit() < 0.5 ? steps.indexOf(lost) + 1 : 1 + below(steps.length);
      steps.splice(at, 0, { do: "restart" });
    },
    wait() {
      const at = 1 + below(steps.length);
      steps.splice(at, 0, { do: "wait", ms: pick(vary.delays) ?? 0 });
    },
  };
  const kinds = [
    ...Array<string>(vary.lostAnswers.atMost).fill("lose"),
    ...Array<string>(vary.together.atMost).fill("together"),
    ...Array<string>(vary.duplicates.atMost).fill("duplicate"),
    ...Array<string>(vary.restarts).fill("restart"),
    ...(vary.delays.length > 0 ? ["wait"] : []),
  ];
  const count = number === 0 || unit() < 0.15 ? 0 : Math.min(1 + below(maxFaults), kinds.length);
  const chosen = Array.from({ length: count }, () => kinds.splice(below(kinds.length), 1)[0] ?? "");
  // A restart looks for a lost answer to come after.
  for (const kind of chosen.toSorted(
    (one, other) => Number(one === "restart") - Number(other === "restart"),
  ))
    faults[kind]?.();
  for (const [at, step] of steps.entries()) {
    const before = new Set(
      steps.slice(0, at).flatMap((one) => ("message" in one ? [one.message] : [])),
    ).size;
    if (step.do === "restart") covers.push(`restart after ${before}`);
    if (step.do === "wait") covers.push(`delay after ${before}`);
  }
  return { number, schedule: steps, covers, order };
}

function orderOf(
  count: number,
  isShuffled: boolean,
  isPart: boolean,
  unit: () => number,
): number[] {
  const order = Array.from({ length: count }, (_, index) => index);
  if (isShuffled) {
    for (let last = count - 1; last > 0; last -= 1) {
      const other = Math.floor(unit() * (last + 1));
      [order[last], order[other]] = [order[other] ?? 0, order[last] ?? 0];
    }
  }
  const part = isPart ? order.filter(() => unit() < 0.5) : order;
  return part.length === 0 ? order : part;
}

/** How much of what a single fault can do has been tried. */
export class Coverage {
  readonly #seen = new Set<string>();
  readonly #orders = new Set<string>();
  readonly #exploration: Pick<Exploration, "messages" | "vary">;

  constructor(exploration: Pick<Exploration, "messages" | "vary">) {
    this.#exploration = exploration;
  }

  add({ covers, order }: Drawn): void {
    for (const cell of covers) this.#seen.add(cell);
    if (order.length === this.#exploration.messages.length) this.#orders.add(order.join(" "));
  }

  /** Of each fault, how many places (a message, and where it stands in the order) of how many. */
  report(): {
    faults: { fault: string; seen: number; of: number }[];
    orders: { seen: number; of: number };
  } {
    const { messages, vary } = this.#exploration;
    const count = messages.length;
    const places = ({ atMost, of }: Limit): number =>
      atMost === 0 ? 0 : of.size * (vary.order ? count : 1);
    const rows: [string, number][] = [
      ["duplicate", places(vary.duplicates)],
      ["copies together", places(vary.together)],
      ["lost answer", places(vary.lostAnswers)],
      ["restart", vary.restarts === 0 ? 0 : count],
      ["delay", vary.delays.length === 0 ? 0 : count],
    ];
    const seenOf = (fault: string): number =>
      [...this.#seen].filter((cell) => cell.startsWith(`${fault} `)).length;
    return {
      faults: rows
        .filter(([, of]) => of > 0)
        .map(([fault, of]) => ({ fault, seen: Math.min(seenOf(fault), of), of })),
      orders: { seen: this.#orders.size, of: vary.order ? factorial(count) : 1 },
    };
  }
}

function factorial(count: number): number {
  return count < 2 ? 1 : count * factorial(count - 1);
}

/** What the step sends, and what the receiver must answer. `{{token}}` is still in it. */
export function requestOf(
  {
    messages,
    receiver: { headers },
    always,
  }: Pick<Exploration, "messages" | "receiver" | "always">,
  schedule: Schedule,
  at: number,
  isSigned: boolean,
): { spec: RequestSpec; answers: WantedAnswers | undefined } | null {
  const step = schedule[at];
  if (step === undefined || !("message" in step)) return null;
  const spec: RequestSpec = {
    ...(headers === undefined ? {} : { headers }),
    body: messages[step.message]?.body ?? "",
    ...(isSigned ? { signature: "valid" } : {}),
  };
  switch (step.do) {
    case "lose":
      return {
        spec: { ...spec, hangUp: step.hangUp, ...(step.waitMs > 0 ? { waitMs: step.waitMs } : {}) },
        answers: undefined,
      };
    case "together":
      return {
        spec: {
          ...spec,
          copies: step.copies,
          ...(step.apartMs > 0 ? { apartMs: step.apartMs } : {}),
          tries: 3,
        },
        // While it works for one, a receiver may refuse the others, such as with 503.
        answers: always.answers ? "one 2xx" : undefined,
      };
    case "send": {
      const isFirst = !schedule
        .slice(0, at)
        .some((one) => "message" in one && one.message === step.message);
      // A copy may be refused, such as with 409.
      const answers = !always.answers ? undefined : isFirst ? "2xx" : "no crash";
      return { spec: { ...spec, tries: 3 }, answers };
    }
  }
}

/** For a list that people read. */
function stepText(
  step: Step,
  { messages }: Pick<Exploration, "messages">,
  isAgain: boolean,
): string {
  const title = "message" in step ? (messages[step.message]?.title ?? "") : "";
  switch (step.do) {
    case "send":
      return isAgain ? `${title}, again` : title;
    case "lose":
      return `${title}, ${step.hangUp === "at-first-byte" ? "its answer is lost" : "the sender hangs up while the receiver works"}`;
    case "together":
      return `${title}, ${step.copies} copies ${step.apartMs === 0 ? "at the same time" : `${step.apartMs} ms apart`}`;
    case "wait":
      return `${step.ms} ms pass`;
    case "restart":
      return "The receiver restarts";
  }
}

export function scheduleTexts(
  schedule: Schedule,
  exploration: Pick<Exploration, "messages">,
): string[] {
  return schedule.map((step, at) => {
    const isAgain =
      "message" in step &&
      schedule.slice(0, at).some((one) => "message" in one && one.message === step.message);
    return stepText(step, exploration, isAgain);
  });
}

/** The sender has hung up, and the receiver works. */
export function isLeft(step: Step | undefined): boolean {
  return step?.do === "lose" && step.hangUp !== "at-first-byte";
}

export function isCloseToRestart(schedule: Schedule): boolean {
  return schedule.some((step, at) => step.do === "restart" && isLeft(schedule[at - 1]));
}

type Part = { from: number; steps: Schedule };

/** Between the restarts. */
export function partsOf(schedule: Schedule): Part[] {
  const parts: Part[] = [];
  let from = 0;
  for (const [at, step] of schedule.entries()) {
    if (step.do !== "restart") continue;
    parts.push({ from, steps: schedule.slice(from, at) });
    from = at + 1;
  }
  return [...parts, { from, steps: schedule.slice(from) }];
}
