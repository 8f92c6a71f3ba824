import { expect, test } from "vitest";
import type { CheckRequestAnswer, CheckResultAnswer } from "../../../contract/checks.ts";
import {
  answerOf,
  chosenRequests,
  findingBeside,
  findingsOf,
  groupsOf,
  nthTime,
  sentencesOf,
  sequenceOf,
} from "./check-words.ts";

const line = (
  id: string,
  group: string,
  state: "pass" | "fail" | "warn" | "running" | "coming",
) => ({
  id,
  title: id,
  group,
  state,
  brief: "",
});
const checks = [
  line("a", "One", "pass"),
  line("b", "One", "pass"),
  line("c", "Two", "fail"),
  line("d", "Two", "warn"),
  line("e", "Three", "running"),
];

const request = (body: string, more: Partial<CheckRequestAnswer> = {}): CheckRequestAnswer => ({
  at: "2026-11-21T16:00:00.000Z",
  head: "POST / HTTP/1.1\r\n\r\n",
  body,
  sentAs: null,
  outcome: "answered",
  status: 204,
  durationMs: 3,
  answerHead: "",
  answerBody: "",
  error: null,
  ...more,
});
const result = (more: Partial<CheckResultAnswer>): CheckResultAnswer => ({
  id: "duplicate",
  title: "The same message twice counts once",
  group: "Exactly once",
  verdict: "fail",
  brief: "",
  detail: "",
  advice: null,
  effects: [],
  requests: [],
  scenario: null,
  ...more,
});

test("groups open by themselves when they hold a finding or a running check", () => {
  expect(
    groupsOf({ checks }).map(({ name, passed, isTelling }) => [name, passed, isTelling]),
  ).toEqual([
    ["One", 2, false],
    ["Two", 0, true],
    ["Three", 0, true],
  ]);
});

test("findings are walked around the ends, from elsewhere to the first or the last", () => {
  const findings = findingsOf({ checks });
  expect(findings).toEqual(["c", "d"]);
  expect([
    findingBeside(findings, "c", 1),
    findingBeside(findings, "d", 1),
    findingBeside(findings, "c", -1),
  ]).toEqual(["d", "c", "d"]);
  expect([
    findingBeside(findings, "a", 1),
    findingBeside(findings, undefined, -1),
    findingBeside([], "a", 1),
  ]).toEqual(["c", "d", undefined]);
});

test.each([
  [
    "It took effect twice. A sender repeats messages.",
    "It took effect twice.",
    "A sender repeats messages.",
  ],
  ["It answered in 1.5 s to it.", "It answered in 1.5 s to it.", ""],
])("the first sentence of %j stands alone", (detail, first, rest) => {
  expect(sentencesOf(result({ detail }))).toEqual({ first, rest });
});

test("a check that passed without a word is its title", () => {
  expect(sentencesOf(result({ verdict: "pass", brief: "one effect" }))).toEqual({
    first: "The same message twice counts once.",
    rest: "one effect",
  });
});

test("the requests of the message that took effect twice are shown first, and drawn", () => {
  const requests = [
    request("tok1"),
    request("tok2", { outcome: "hung_up", status: null }),
    request("tok1"),
    request("tok2"),
    request("tok3"),
  ];
  const effects = [
    { token: "tok2", wanted: 1, found: ["x", "y"] },
    { token: "tok1", wanted: 1, found: ["x"] },
  ];
  expect(chosenRequests({ requests, effects })).toEqual({ shown: [1, 3], others: [0, 2, 4] });
  expect(sequenceOf({ requests, effects })).toEqual({
    steps: [
      { number: 2, isLost: true, answer: "answer lost", outcome: "connection_error" },
      { number: 4, isLost: false, answer: "204", outcome: "success" },
    ],
    isTogether: false,
    effects: 2,
    wanted: 1,
  });
});

test("without such a message, the requests that were answered 5xx or not at all are shown, or the last two", () => {
  const right = request("tok1");
  for (const status of [500, null])
    expect(
      chosenRequests({
        requests: [right, request("tok2", { status }), right, right],
        effects: [],
      }),
    ).toEqual({ shown: [1], others: [0, 2, 3] });
  expect(chosenRequests({ requests: [right, right, right], effects: [] })).toEqual({
    shown: [1, 2],
    others: [0],
  });
});

test("nothing is drawn without effects that are not as expected, nor for what must not take effect at all", () => {
  const requests = [request("tok1"), request("tok1")];
  expect(
    sequenceOf({ requests, effects: [{ token: "tok1", wanted: 1, found: ["x"] }] }),
  ).toBeNull();
  expect(
    sequenceOf({ requests, effects: [{ token: "tok1", wanted: 0, found: ["x"] }] }),
  ).toBeNull();
  expect(chosenRequests({ requests: [...requests, request("tok2")], effects: [] })).toEqual({
    shown: [1, 2],
    others: [0],
  });
});

test("an answer is its status, or why there is none", () => {
  expect(answerOf(request("", { status: 500 }))).toEqual({
    isLost: false,
    answer: "500",
    outcome: "http_error",
  });
  expect(answerOf(request("", { status: null, outcome: "timeout", error: "late" }))).toEqual({
    isLost: true,
    answer: "late",
    outcome: "timeout",
  });
  expect([0, 1, 2].map(nthTime)).toEqual(["once", "twice!", "3 times!"]);
});
