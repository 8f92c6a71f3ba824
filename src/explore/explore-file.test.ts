import { expect, test } from "vitest";
import { readExploration } from "./explore-file.ts";

const file = (receiver: string, vary: string): string => `name: A
explore:
  receiver: { url: http://127.0.0.1:1/${receiver} }
  messages: [{ type: page }]
  vary: { ${vary} }
`;

function problemsOf(text: string): string[] {
  const read = readExploration(text);
  return "problems" in read
    ? read.problems.map(({ line, column, message }) => `${line}:${column} ${message}`)
    : [];
}

test.each([
  [
    "a long delay",
    file("", "delays: [10s, 15s]"),
    "5:25 A delay is at most 10s, as between the copies of a request in a scenario.",
  ],
  [
    "another variable",
    file(", headers: { X-Token: 'Bearer {{env.SHOP_TOKEN}}' }", "order: true"),
    "3:61 Name the variable HOOKYARD_SHOP_TOKEN: the scenario that is written reads only names that begin with HOOKYARD_.",
  ],
])("what the written scenario could not repeat is refused: %s", (_, text, problem) => {
  expect(problemsOf(text)).toEqual([problem]);
});

test("what it can repeat is accepted", () => {
  const headers = ", headers: { X-Token: 'Bearer {{env.HOOKYARD_SHOP_TOKEN}}' }";
  expect(problemsOf(file(headers, "delays: [10s]"))).toEqual([]);
});
