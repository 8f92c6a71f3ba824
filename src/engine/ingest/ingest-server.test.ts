/** The answers of the ingest port, at their bounds. */

import { expect, test } from "vitest";
import { problem } from "../../domain/problem.ts";
import type { CommittedMessage } from "../ports.ts";
import type { AcceptedRequest } from "./accept.ts";
import {
  batchAnswer,
  reasonPhrase,
  success,
  unknownKeyProblem,
  unknownPath,
  wrongMethod,
} from "./ingest-server.ts";

type Fate = "accepted" | "rejected" | "duplicate";

/** Of a batch whose messages have these fates, in short. */
function answerOf(fates: Fate[], surplus = 0) {
  const rejection = { reason: "wrong", detail: "It is wrong." };
  const messages = fates.map((fate) => ({ rejection: fate === "rejected" ? rejection : null }));
  const committed = fates.map((fate, nth) => ({
    duplicateOf: fate === "duplicate" ? 1 : null,
    messageId: `m${nth}`,
  }));
  const answer = JSON.parse(
    batchAnswer(
      { messages, surplus } as unknown as AcceptedRequest,
      committed as unknown as CommittedMessage[],
    ),
  ) as Record<"rejected" | "duplicates", { index: number }[]> & Record<string, unknown>;
  const indexes = (list: { index: number }[]): number[] => list.map(({ index }) => index);
  return {
    ...answer,
    rejected: indexes(answer.rejected),
    duplicates: indexes(answer.duplicates),
  };
}

const many = (count: number, fate: Fate): Fate[] => Array.from({ length: count }, () => fate);
const upTo = (count: number, from = 0): number[] =>
  Array.from({ length: count }, (_, nth) => from + nth);

test("a batch without a mistake is a success, and one with some names them by their places", () => {
  const none = { messages: [{ rejection: null }], surplus: 0 } as unknown as AcceptedRequest;
  const committed = [{ duplicateOf: null, messageId: "m" }] as unknown as CommittedMessage[];
  expect(batchAnswer(none, committed)).toBe(success);
  expect(answerOf(["accepted", "rejected", "duplicate"])).toEqual({
    success: true,
    rejected: [1],
    duplicates: [2],
  });
  expect(answerOf(["duplicate"])).toMatchObject({ rejected: [], duplicates: [0] });
  expect(answerOf(["accepted", "rejected"])).toMatchObject({ rejected: [1], duplicates: [] });
});

test("an answer names a hundred rejected messages and as many duplicates, and counts more", () => {
  const fates = [...many(100, "rejected"), ...many(100, "duplicate")];
  const hundred = { success: true, rejected: upTo(100), duplicates: upTo(100, 100) };
  expect(answerOf(fates)).toEqual(hundred);
  expect(answerOf([...fates, "rejected", "duplicate"])).toEqual({
    ...hundred,
    ...{ rejectedCount: 101, duplicateCount: 101 },
  });
});

test("those over the limit of a batch are one record, and named like the others", () => {
  expect(answerOf(["rejected", "accepted", "rejected"], 3).rejected).toEqual([0, 2, 3, 4]);
  expect(answerOf(["accepted", "rejected"], 98)).toMatchObject({ rejected: upTo(98, 1) });
  expect(answerOf(["accepted", "rejected"], 500)).toEqual({
    ...{ success: true, rejected: upTo(100, 1), rejectedCount: 500, duplicates: [] },
  });
});

test("a reason phrase has 160 characters of printable ASCII, and begins with the status", () => {
  const reason = (message: string): string => reasonPhrase(problem(400, "x", message));
  expect(reason("The body is not JSON.")).toBe("Bad Request: the body is not JSON");
  expect(reason("JSON é\n is not.")).toBe("Bad Request: JSON ?? is not");
  const rest = 160 - "Bad Request: ".length;
  expect(reason("x".repeat(rest))).toBe(`Bad Request: ${"x".repeat(rest)}`);
  expect(reason("x".repeat(rest + 1))).toBe(`Bad Request: ${"x".repeat(rest - 3)}...`);
  expect(reasonPhrase(problem(499, "x", "Odd."))).toBe("Refused: odd");
});

test("a path has 200 characters in a sentence, and a key 40 in a reason phrase", () => {
  const path = `/${"p".repeat(199)}`;
  expect([unknownPath(path).status, wrongMethod(path).status]).toEqual([404, 405]);
  expect(unknownPath(path).message).toMatch(`${path} is not`);
  expect(unknownPath(`${path}q`).message).toMatch(`${path}… is not`);
  expect(wrongMethod(path, "GET").message).toBe(`${path} accepts POST, not GET.`);
  expect(wrongMethod(`${path}q`).message).toBe(`${path}… accepts POST, not that.`);
  const key = "k".repeat(40);
  expect(unknownKeyProblem(key, "kept").brief).toBe(`No source has the write key ${key}`);
  expect(unknownKeyProblem(`${key}l`, "kept").brief).toBe(`No source has the write key ${key}...`);
});
