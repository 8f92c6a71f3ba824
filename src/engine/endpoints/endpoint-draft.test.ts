/** What a test endpoint may be, at every bound, and what a change leaves as it is. */

import { expect, test } from "vitest";
import type { Step, TestEndpoint } from "../../domain/configuration.ts";
import { checkDraft, presets } from "./endpoint-draft.ts";

const free = (): boolean => false;
const answer: Step = { do: "answer", status: 200 };

const present = {
  id: 1,
  createdAt: 0,
  name: "Old",
  path: "old",
  steps: [{ do: "hang" }],
  after: "loop",
} as unknown as TestEndpoint;

test("a new endpoint answers 200 for ever, at a path made of its name", () => {
  expect(checkDraft({ name: " My hook! " }, null, free)).toEqual({
    name: "My hook!",
    path: "my-hook",
    steps: [answer],
    after: "repeat-last",
    inFrontOf: null,
    perMessage: false,
  });
  const paths = ["Łódź Größe", "名前", "--a--b--", "é"].map((name) =>
    checkDraft({ name }, null, free),
  );
  expect(paths).toMatchObject([
    { path: "odz-gro-e" },
    { path: "endpoint" },
    { path: "a-b" },
    { path: "e" },
  ]);
  const taken = new Set(["hook", "hook-2", "hook-3"]);
  expect(checkDraft({ name: "Hook" }, null, (path) => taken.has(path))).toMatchObject({
    path: "hook-4",
  });
});

test("a change leaves what it does not name", () => {
  const { name, path, steps, after } = present;
  expect(checkDraft({}, present, () => true)).toEqual({
    name,
    path,
    steps,
    after,
    inFrontOf: null,
    perMessage: false,
  });
  for (const change of [
    { name: "New" },
    { path: "new/er" },
    { steps: [answer] },
    { after: "repeat-last" as const },
  ])
    expect(checkDraft(change, present, free)).toEqual({
      name,
      path,
      steps,
      after,
      inFrontOf: null,
      perMessage: false,
      ...change,
    });
  expect(checkDraft({ steps: [] }, present, free)).toMatchObject({ steps: [answer] });
});

test.for<[string, Partial<TestEndpoint>, string, string[], string]>([
  ["follows it", {}, "New", [], "new"],
  ["follows it around those of others", {}, "New", ["new"], "new-2"],
  ["stays, if somebody chose it", { path: "chosen" }, "New", [], "chosen"],
  ["follows it, if it has a number", { path: "old-2" }, "New", [], "new"],
  ["stays its own number", { path: "new-2" }, "New", ["new", "new-2"], "new-2"],
  ["stays without a new name", { path: "old-2" }, "Old", [], "old-2"],
])("the path of a renamed endpoint that nobody uses %s", ([, before, name, others, path]) => {
  const draft = { name };
  const isTaken = (one: string): boolean => others.includes(one);
  expect(checkDraft(draft, { ...present, ...before }, isTaken, false)).toMatchObject({ path });
  expect(checkDraft(draft, { ...present, ...before }, isTaken)).toMatchObject({
    path: before.path ?? "old",
  });
});

test("whether an endpoint counts for each message is kept or changed, and a new one does not", () => {
  const each = { ...present, perMessage: true };
  for (const [draft, before, perMessage] of [
    [{}, each, true],
    [{ perMessage: false }, each, false],
    [{ perMessage: true }, present, true],
    [{ perMessage: true, name: "New" }, null, true],
  ] as const)
    expect(checkDraft(draft, before, free)).toMatchObject({ perMessage });
});

test("where it stands in front of is kept, changed or taken away", () => {
  const inFrontOf = { destinationId: 1, webhookId: 2, url: "http://a/" } as never;
  const behind = { ...present, inFrontOf };
  expect(checkDraft({}, behind, free)).toMatchObject({ inFrontOf });
  expect(checkDraft({ inFrontOf: null }, behind, free)).toMatchObject({ inFrontOf: null });
  expect(checkDraft({ inFrontOf }, present, free)).toMatchObject({ inFrontOf });
});

test("a path is free or its own, and may be given with a slash", () => {
  const isTaken = (path: string): boolean => path === "old" || path === "other";
  expect(checkDraft({ path: "/old" }, present, isTaken)).toMatchObject({ path: "old" });
  expect(checkDraft({ path: "other" }, present, isTaken)).toMatchObject({
    status: 409,
    code: "path_taken",
  });
  expect(checkDraft({ name: "N", path: "old" }, null, isTaken)).toMatchObject({
    status: 409,
    code: "path_taken",
  });
});

test.for<[string, object]>([
  ["a name of 200 characters", { name: "n".repeat(200) }],
  ["a path of 200 characters", { path: "p".repeat(200) }],
  ["a path of several parts", { path: "a_1/b-2/c" }],
  ["1,000 steps", { steps: Array.from({ length: 1000 }, () => answer) }],
])("%s is allowed", ([, draft]) => {
  expect(checkDraft(draft, present, free)).toMatchObject(draft);
});

test.for<[string, object]>([
  ["no name", { name: " " }],
  ["a name of 201 characters", { name: "n".repeat(201) }],
  ["a path of 201 characters", { path: "p".repeat(201) }],
  ["an empty path", { path: "/" }],
  ["a path with two slashes", { path: "a//b" }],
  ["a path in capitals", { path: "A" }],
  ["a path that ends in a slash", { path: "a/" }],
  ["1,001 steps", { steps: Array.from({ length: 1001 }, () => answer) }],
])("%s is refused", ([, draft]) => {
  expect(checkDraft(draft, present, free)).toMatchObject({ status: 400, code: "invalid" });
});

test.for<Partial<Step>>([
  { times: 1 },
  { chance: 0 },
  { chance: 1 },
  { status: 200 },
  { status: 999 },
  { do: "redirect", status: 300 },
  { do: "redirect", status: 399 },
  { do: "redirect" },
  { delayMs: 0 },
  { delayMs: 86_400_000 },
  { do: "hang", forMs: 0 },
  { do: "hang", forMs: 86_400_000 },
  { body: "b".repeat(512 * 1024) },
  { headers: { "X-y": "1" } },
  { headers: Object.fromEntries(Array.from({ length: 100 }, (_, n) => [`X-${n}`, "1"])) },
  { headers: { "X-y": "1".repeat(65_526) } },
  { headers: { trailer: "X-y", "transfer-encoding": "gzip, Chunked" } },
])("a step may be %o", (step) => {
  const steps = [{ ...answer, status: undefined, ...step } as Step];
  expect(checkDraft({ steps }, present, free)).toMatchObject({ steps });
});

test.for<Partial<Step>>([
  { times: 0 },
  { times: 1.5 },
  { chance: -0.1 },
  { chance: 1.1 },
  { status: 199 },
  { status: 1000 },
  { status: 200.5 },
  { do: "redirect", status: 299 },
  { do: "redirect", status: 400 },
  { delayMs: -1 },
  { delayMs: 86_400_001 },
  { delayMs: 0.5 },
  { do: "hang", forMs: -1 },
  { do: "hang", forMs: 86_400_001 },
  { body: "b".repeat(512 * 1024 + 1) },
  { headers: { "X-y": "1", "X z": "1" } },
  { headers: { "X-y": "a\nb" } },
  { headers: Object.fromEntries(Array.from({ length: 101 }, (_, n) => [`X-${n}`, "1"])) },
  { headers: { "X-y": "1".repeat(65_527) } },
  { headers: { TRAILER: "X-y" } },
  { headers: { Trailer: "X-y", "Transfer-Encoding": "gzip" } },
  { status: 204, headers: { Trailer: "X-y", "Transfer-Encoding": "chunked" } },
  { status: 304, headers: { Trailer: "X-y", "Transfer-Encoding": "chunked" } },
])("a step may not be %o, which names the step", (step) => {
  const steps = [answer, { ...answer, ...step }, answer];
  expect(checkDraft({ steps }, present, free)).toMatchObject({
    status: 400,
    code: "invalid",
    message: expect.stringMatching(/^Step 2: /) as string,
  });
});

test("the programs for the usual cases are allowed, have names of their own, and stay as they are documented", () => {
  expect(new Set(presets.map(({ name }) => name)).size).toBe(presets.length);
  for (const { title: name, steps, after } of presets)
    expect(checkDraft({ name, steps, after }, null, free)).toMatchObject({ steps, after });
  const stepsOf = (name: string): unknown => presets.find((preset) => preset.name === name)?.steps;
  expect(stepsOf("503-three-times")).toEqual([{ do: "answer", status: 503, times: 3 }, answer]);
  expect(stepsOf("flaky-30")).toEqual([{ do: "answer", status: 503, chance: 0.3 }, answer]);
  expect(stepsOf("slow")).toEqual([{ ...answer, delayMs: 4500 }]);
  expect(stepsOf("redirects")).toEqual([{ do: "redirect", status: 302 }]);
  expect(stepsOf("times-out")).toEqual([{ do: "hang" }]);
  expect(presets.flatMap(({ name, host }) => (host === undefined ? [] : [[name, host]]))).toEqual(
    ["self-signed", "expired", "wrong-host", "valid"].map((name) => [
      `${name}-certificate`,
      `${name}.localhost`,
    ]),
  );
});

test("a new endpoint needs a name", () => {
  expect(checkDraft({}, null, free)).toMatchObject({ message: "A test endpoint needs a name." });
});

test.for<[Partial<Step>, string]>([
  [{ status: 200.5 }, "`status` must be a whole number from 200 to 999."],
  [
    { do: "truncate", status: 204 },
    "a 204, a 304 and an empty body have nothing to truncate. Use another status, or leave `body` out.",
  ],
  [
    { do: "drip", body: "" },
    "a 204, a 304 and an empty body have nothing to drip. Use another status, or leave `body` out.",
  ],
  [{ do: "redirect", status: 200 }, "the `status` of a redirect must be from 300 to 399."],
  [{ headers: { "X a": "1", "X b": "1" } }, 'HTTP does not allow the header "X a".'],
  [{ headers: { "X-A": "1", "X b": "1" } }, 'HTTP does not allow the header "X b".'],
  [
    { headers: { Trailer: "X" } },
    'the header "Trailer" needs `Transfer-Encoding: chunked` beside it, and a status that allows a body.',
  ],
])("of %o the first mistake is named", ([step, sentence]) => {
  expect(checkDraft({ steps: [{ ...answer, ...step }] }, present, free)).toMatchObject({
    message: `Step 1: ${sentence}`,
  });
});
