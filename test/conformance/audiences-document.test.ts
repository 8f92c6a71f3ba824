/** What `docs/audiences.md` says of its examples is what Hookyard says of them. */

import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { checkInput } from "../../src/contract/call.ts";
import { calls } from "../../src/contract/contract.ts";
import { computation, rule } from "../../src/contract/rules.ts";
import { snakeCase } from "../../src/domain/snake-case.ts";
import { People, type SentMessage } from "../support/people.ts";

const text = readFileSync(new URL("../../docs/audiences.md", import.meta.url), "utf8");
const rows = [...text.matchAll(/^\| (.+?) +\| (.+?) +\|$/gm)].map(([, left = "", right = ""]) => [left, right] as const);
const unquoted = (cell: string): string => cell.replace(/^`(.*)`$/, "$1");
const examples = (begin: string) => rows.filter(([left]) => left.startsWith(`\`{"${begin}`)).map((row) => row.map(unquoted));

const now = Date.parse(/it is (\S+Z)/.exec(text)?.[1] ?? "");
const people = new People();
const messages = /^```json\n(\[\n.+?)^```/ms.exec(text)?.[1] ?? "";
for (const message of JSON.parse(messages) as SentMessage[]) people.send(message);

const rules = ["trait", "event", "not", "all"].flatMap(examples);
const computations = examples("aggregate");

test("the document has its examples where they are looked for", () => {
  expect(people.userIds().toSorted()).toEqual(["ada", "bob", "cyd"]);
  expect(rules.length).toBeGreaterThan(12);
  expect(computations.length).toBeGreaterThan(10);
});

test.each(rules)("%s: %s", (example, members) => {
  expect(people.members(rule.parse(JSON.parse(example ?? "")), now).join(", ") || "nobody").toBe(members);
});

test.each(computations)("%s: %s", (example, values) => {
  expect(people.values(computation.parse(JSON.parse(example ?? "")), now)).toEqual(JSON.parse(values ?? ""));
});

const keys = rows.filter(([name, key]) => /^`[\p{L}\p{N}_]+`$/u.test(key) && !name.startsWith("`"));
test.each(keys.map((row) => row.map(unquoted)))("the name %s has the key %s", (name, key) => {
  expect(snakeCase(name ?? "")).toBe(key);
});

test("the call that it shows is one, and so is the sentence about a rule that is none", () => {
  const body = /\$API\/audiences -d '(.+?)'\n/s.exec(text)?.[1] ?? "";
  expect(checkInput(calls["audiences.create"], JSON.parse(body))).toMatchObject({ name: "Big Spenders" });
  const condition = { event: "Order Completed" };
  const wrong = { all: [condition, { ...condition, withinDays: 0 }] };
  const { message } = checkInput(calls["audiences.create"], { name: "A", rule: wrong }) as { message?: string };
  expect(text).toContain(message);
  expect(keys.length).toBe(8);
});
