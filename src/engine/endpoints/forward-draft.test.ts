import { expect, test } from "vitest";
import type { Step } from "../../domain/configuration.ts";
import { checkDraft, presets } from "./endpoint-draft.ts";

const to = "http://127.0.0.1:3000/hook";
const check = (step: Step) => checkDraft({ name: "Between", steps: [step] }, null, () => false);

test.each<[step: Omit<Step, "do" | "to">, sentence: string]>([
  [{ delayAfterMs: -1 }, "`delayAfterMs` must be from 0 to 86400000 (24 hours)."],
  [{ copies: 11 }, "`copies` must be a whole number from 1 to 10."],
  [{ copies: 1.5 }, "`copies` must be a whole number from 1 to 10."],
  [{ copies: 0 }, "`copies` must be a whole number from 1 to 10."],
  [{ delayAfterMs: 86_400_001 }, "`delayAfterMs` must be from 0 to 86400000 (24 hours)."],
  [{ hold: 1 }, "`hold` must be a whole number from 2 to 100."],
  [{ hold: 2.5 }, "`hold` must be a whole number from 2 to 100."],
  [{ hold: 101 }, "`hold` must be a whole number from 2 to 100."],
  [{ together: true }, "`together` is about copies. Set `copies` to 2 or more, or leave it out."],
  [
    { together: true, copies: 1 },
    "`together` is about copies. Set `copies` to 2 or more, or leave it out.",
  ],
  [{ order: "seeded" }, "`order` is about held requests. Set `hold` to how many, or leave it out."],
  [
    { forMs: 1000 },
    "`forMs` says how long `hold` waits, and there is no `hold`. To delay, use `delayMs` or `delayAfterMs`.",
  ],
  [
    { hold: 3, times: 2 },
    "a step that holds 3 requests must serve as many: `times` must be at least 3, or left out.",
  ],
  [
    { loseAs: "reset" },
    "`loseAs` says how a loss looks. Set `lose` to `answer` or `request`, or leave it out.",
  ],
  ...[{ body: "x" }, { headers: { "X-A": "1" } }].map((step): [Partial<Step>, string] => [
    step,
    "`headers` and `body` replace the receiver's answer together with `status`. Set `status`, or leave them out.",
  ]),
  [
    { headers: { "X-A": "1" }, body: "x" },
    "`headers` and `body` replace the receiver's answer together with `status`. Set `status`, or leave them out.",
  ],
  [
    { lose: "answer", status: 503 },
    '`lose: "answer"` sends no answer, so `status` has no meaning beside it. Leave one of the two out.',
  ],
  [
    { lose: "answer", loseAs: "timeout", delayAfterMs: 5 },
    '`loseAs: "timeout"` never answers, so `delayAfterMs` has no meaning beside it. Leave one of the two out.',
  ],
  ...(["copies", "tamper", "hold", "delayAfterMs"] as const).map(
    (name): [Omit<Step, "do" | "to">, string] => [
      { lose: "request", [name]: name === "tamper" ? "body" : 2 },
      `\`lose: "request"\` passes nothing on, so \`${name}\` has no meaning beside it. Use \`lose: "answer"\` if the receiver should get the request.`,
    ],
  ),
])("a forward with %j is refused with a sentence", (step, sentence) => {
  expect(check({ do: "forward", to, ...step })).toMatchObject({
    code: "invalid",
    message: `Step 1: ${sentence}`,
    data: { step: 0 },
  });
});

test.each<Omit<Step, "do" | "to">>([
  { delayAfterMs: 0 },
  { delayAfterMs: 86_400_000 },
  { copies: 1 },
  { copies: 2, together: true },
  { copies: 10 },
  { hold: 2 },
  { hold: 100 },
  { hold: 3, times: 3 },
])("a forward may have %j", (step) => {
  const steps = [{ do: "forward", to, ...step }];
  expect(check({ do: "forward", to, ...step })).toMatchObject({ steps });
});

test("a forward needs the full URL of a receiver", () => {
  for (const step of [{}, { to: "" }])
    expect(check({ do: "forward", ...step })).toMatchObject({
      message: expect.stringContaining("`forward` needs `to`, the full URL of the receiver"),
    });
  expect(check({ do: "forward", to: "localhost:3000" })).toMatchObject({
    message: "Step 1: `to`: Write the full URL, beginning with http:// or https://.",
  });
});

test("what only a forward has is refused elsewhere", () => {
  const members: Partial<Step> = {
    ...{ to, lose: "answer", loseAs: "reset", delayAfterMs: 1, copies: 2, together: true },
    ...{ tamper: "body", hold: 2, order: "seeded" },
  };
  const refusal = (name: string) => ({
    message: `Step 1: \`${name}\` belongs to a step that does \`forward\`, and this one does \`answer\`.`,
  });
  for (const [name, value] of Object.entries(members))
    expect(check({ do: "answer", [name]: value })).toMatchObject(refusal(name));
  expect(check({ do: "answer", ...members })).toMatchObject(refusal("to"));
});

test("every option that goes with others is accepted, and so is every preset", () => {
  const whole: Step = {
    do: "forward",
    to,
    tamper: "body",
    hold: 3,
    order: "seeded",
    forMs: 500,
    copies: 10,
    together: false,
    times: 4,
  };
  const kept = {
    delayMs: 1,
    delayAfterMs: 1,
    status: 503,
    headers: { "X-A": "1" },
    body: "b",
    chance: 0.5,
    match: { userId: "u" },
  };
  for (const steps of [
    [{ ...whole, ...kept }],
    [{ ...whole, lose: "answer" as const }],
    ...presets.map((preset) => preset.steps),
  ])
    expect(checkDraft({ name: "Between", steps }, null, () => false)).toMatchObject({ steps });
});
