/** What `docs/audiences.md` says of its examples is what Hookyard says of them. */

import { readFileSync } from "node:fs";
import { expect, test as base } from "vitest";
import { checkInput, type Call } from "../../src/contract/call.ts";
import { calls } from "../../src/contract/contract.ts";
import { computation, rule } from "../../src/contract/rules.ts";
import { snakeCase } from "../../src/domain/snake-case.ts";
import { People, type SentMessage } from "../support/people.ts";
import { starting } from "../support/running-app.ts";
import { openShop, told } from "../support/shop.ts";

const test = base.extend("start", starting);

const text = readFileSync(new URL("../../docs/audiences.md", import.meta.url), "utf8");
const rows = [...text.matchAll(/^\| (.+?) +\| (.+?) +\|$/gm)].map(
  ([, left = "", right = ""]) => [left, right] as const,
);
const unquoted = (cell: string): string => cell.replace(/^`(.*)`$/, "$1");
const examples = (begin: string) =>
  rows.filter(([left]) => left.startsWith(`\`{"${begin}`)).map((row) => row.map(unquoted));

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
  expect(people.members(rule.parse(JSON.parse(example ?? "")), now).join(", ") || "nobody").toBe(
    members,
  );
});

test.each(computations)("%s: %s", (example, values) => {
  expect(people.values(computation.parse(JSON.parse(example ?? "")), now)).toEqual(
    JSON.parse(values ?? ""),
  );
});

const keys = rows.filter(([name, key]) => /^`[\p{L}\p{N}_]+`$/u.test(key) && !name.startsWith("`"));
test.each(keys.map((row) => row.map(unquoted)))("the name %s has the key %s", (name, key) => {
  expect(snakeCase(name ?? "")).toBe(key);
});

test("its settings are those of the calls, and its calls are there", () => {
  const drafts = [calls["audiences.create"], calls["computedTraits.create"]].flatMap(({ body }) =>
    Object.keys(body.shape),
  );
  const table = [...text.matchAll(/^\| `(\w+)` +\|[^|]+\|[^|]+\|$/gm)].map(([, name]) => name);
  expect(table).toEqual(expect.arrayContaining(drafts));
  const known = Object.values<Call>(calls).map(({ method, path }) => `${method} ${path}`);
  const shown = [...text.matchAll(/`([A-Z]+ \/api\/[^`?]+)/g)].map(([, call]) => call);
  expect(shown.length).toBeGreaterThan(7);
  for (const call of shown) expect(known).toContain(call);
});

test("the sentence about a rule that is none is what Hookyard says", () => {
  const condition = { event: "Order Completed" };
  const wrong = { all: [condition, { ...condition, withinDays: 0 }] };
  const { message } = checkInput(calls["audiences.create"], { name: "A", rule: wrong }) as {
    message?: string;
  };
  expect(text).toContain(message);
  expect(keys.length).toBe(8);
});

test("the webhook gets what it shows", async ({ start }) => {
  const app = await openShop(start);
  const block = /```sh\n(.+?)```/s.exec(text)?.[1] ?? "";
  for (const [, total] of block.matchAll(/buy (\d+)/g)) {
    const body = /v1\/track -d '(.+?)'\$1/.exec(block)?.[1] ?? "";
    await app.ingest("/v1/track", `${body}${total}}}`, "key");
  }
  await app.call(
    "audiences.create",
    JSON.parse(/\$API\/audiences -d '(.+?)'\n/s.exec(block)?.[1] ?? ""),
  );
  expect(await told(app, "big_spenders")).toEqual({ ada: [true] });
  await app.advance(JSON.parse(/advance -d '(.+?)'/.exec(block)?.[1] ?? ""));
  expect(await told(app, "big_spenders")).toEqual({ ada: [true, false] });

  const body =
    app.webhook.requests
      .map((request) => request.body)
      .find((one) => one.includes("big_spenders")) ?? "";
  const shown = JSON.parse(/^```json\n(\{\n  "version".+?)^```/ms.exec(text)?.[1] ?? "") as object;
  const made = ["messageId", "timestamp", "namespace", "space_id"];
  const isMade = (name: string, value: unknown): unknown => (made.includes(name) ? "made" : value);
  expect(JSON.parse(body, isMade)).toEqual(JSON.parse(JSON.stringify(shown), isMade));
});
