import { expect, test } from "vitest";
import { readExploration } from "./explore-file.ts";

const file = (receiver: string, vary: string): string => `name: A
explore:
  receiver: { url: http://127.0.0.1:1/${receiver} }
  messages: [{ type: page }]
  vary: { ${vary} }
`;

const withMessages = (messages: string, tokens = ["'{{user}}'"]): string => `name: A
explore:
  receiver: { url: http://127.0.0.1:1/, effects: http://127.0.0.1:1/log }
  messages: [${messages}]
  always:
    expect:
${tokens.map((token) => `      - effects: { token: ${token}, times: 1 }\n`).join("")}
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
  [
    "a misspelt placeholder",
    withMessages(
      "{ type: page, userId: '{{usr}}' }, { type: page, properties: { a: '{{ user }}' } }",
    ),
    [
      "4:36 {{usr}} is unknown. There are {{user}}, {{user2}} …, {{message}} and {{message2}} ….",
      "4:80 {{ user }} is unknown. There are {{user}}, {{user2}} …, {{message}} and {{message2}} ….",
    ],
  ],
  [
    "a placeholder of a message that there is not, also as a name",
    withMessages("{ type: page, properties: { '{{message0}}': '{{user12}} {{message2}}' } }"),
    [
      "4:42 Message 0 does not exist: the file has 1.",
      "4:58 Message 2 does not exist: the file has 1.",
    ],
  ],
  [
    "an expectation of no message in particular",
    withMessages("{ type: page }", ["'{{message}}'", "'{{message9}}'", "order", "'{{usr}}'"]),
    [
      "7:27 Say which message it is: {{message1}}, {{message2}} ….",
      "8:27 Message 9 does not exist: the file has 1.",
      "9:27 The token needs {{user}}, {{user2}}, {{message1}} or {{message2}} …: any other text is the same in all schedules.",
      "10:27 {{usr}} is unknown. There are {{user}}, {{user2}} …, {{message}} and {{message2}} ….",
    ],
  ],
  [
    "an expectation that no number meets",
    withMessages("{ type: page }").replace("times: 1", "times: { atLeast: 2, atMost: 1 }"),
    "7:46 atLeast is more than atMost, so nothing fits.",
  ],
])("what could not be repeated or never fails is refused: %s", (_, text, problem) => {
  expect(problemsOf(text)).toEqual(typeof problem === "string" ? [problem] : problem);
});

test("what it can repeat is accepted", () => {
  const headers = ", headers: { X-Token: 'Bearer {{env.HOOKYARD_SHOP_TOKEN}}' }";
  expect(problemsOf(file(headers, "delays: [10s]"))).toEqual([]);
  const message = "{ type: page, properties: { of: '{{user2}} {{message}} {{message1}}' } }";
  expect(problemsOf(withMessages(message, ["'{{user}}'", "'{{message1}}'"]))).toEqual([]);
});
