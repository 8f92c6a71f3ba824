/** What a draft of webhooks or mappings becomes, and what is refused of it. */

import { expect, test } from "vitest";
import type { Destination, Mapping, MappingDraft } from "../domain/configuration.ts";
import type { WebhookId } from "../domain/ids.ts";
import { maxHeaders, maxWebhooks } from "../domain/webhook-rules.ts";
import {
  checkMappings,
  checkWebhooks,
  mappingOf,
  misplacedIn,
  webhooksOfMappings,
  withKnownWebhooks,
} from "./mappings.ts";

const url = "http://127.0.0.1/hook";

test("a mapping has what was given, and the defaults of what was left out", () => {
  const left: MappingDraft = { name: "M", url };
  const defaults = {
    ...{ name: "M", url, enabled: true, trigger: null, method: "POST", headers: {} },
    data: { "@path": "$." },
    batch: { enabled: false, size: 1000, keys: ["url", "method", "headers"], waitMs: 1000 },
  };
  expect(mappingOf(left)).toEqual(defaults);
  expect(mappingOf({ ...left, batch: { enabled: false } })).toEqual(defaults);
  const given: MappingDraft = {
    ...{ name: "N", url: { "@path": "$.url" }, enabled: false, trigger: 'event = "e"' },
    ...{ method: "PUT", headers: { a: "1" }, data: null },
    batch: { enabled: true, size: 5, keys: [], waitMs: 0 },
  };
  expect(mappingOf(given)).toEqual(given);
});

const checked = (...drafts: object[]): string | null =>
  checkMappings(drafts.map((draft) => mappingOf({ name: "M", url, ...draft })))?.message ?? null;

test.each<[wrong: object, said: string | null]>([
  [{}, null],
  [{ name: "\t" }, "name: A mapping needs a name."],
  [{ url: { "@path": "$.url" } }, null],
  [{ url: null }, "url: The URL is a text or a directive."],
  [{ url: [url] }, "url: The URL is a text or a directive."],
  [{ headers: { "@path": "$.headers" } }, null],
  [{ headers: "a" }, "headers: The headers are an object or a directive."],
  [{ headers: [] }, "headers: The headers are an object or a directive."],
  [{ batch: { size: 1 } }, null],
  [{ batch: { size: 0 } }, "batch.size: A batch has 1 to 4000 events."],
  [{ batch: { size: 4000 } }, null],
  [{ batch: { size: 4001 } }, "batch.size: A batch has 1 to 4000 events."],
  [{ batch: { size: NaN } }, "batch.size: A batch has 1 to 4000 events."],
  [{ batch: { waitMs: 0 } }, null],
  [{ batch: { waitMs: -1 } }, "batch.waitMs: A batch waits for at most an hour."],
  [{ batch: { waitMs: 3_600_000 } }, null],
  [{ batch: { waitMs: 3_600_001 } }, "batch.waitMs: A batch waits for at most an hour."],
  [{ trigger: 'event = "e"' }, null],
])("of the mapping %j is said: %s", (wrong, said) => {
  expect(checked({ ...wrong })).toBe(said === null ? null : `mappings[0].${said}`);
});

test("what is wrong with a trigger, a URL and a directive is said with its place", () => {
  expect(checked({ trigger: 'event = "Or' })).toMatch(
    /^mappings\[0\]\.trigger: .+ \(character 9\)$/,
  );
  expect(checked({ url: "ftp://a/" })).toMatch(/^mappings\[0\]\.url: .+/);
  expect(checked({ data: { a: { "@path": 5 } } })).toMatch(/^mappings\[0\]\.data.*: .+/);
});

test("one to five mappings have names of their own, and the first that is wrong is named", () => {
  const named = (count: number): object[] =>
    Array.from({ length: count }, (_, nth) => ({ name: `M${nth}` }));
  expect([1, 5].map((count) => checked(...named(count)))).toEqual([null, null]);
  expect(checked()).toBe("A destination with mappings needs at least one.");
  expect(checked(...named(6))).toBe("A destination has at most 5 mappings, not 6.");
  expect(checked(...named(3), { name: "M1" }, { name: " " })).toBe(
    "mappings[3].name: Another mapping has the name M1 already.",
  );
});

const webhook = (id: number, at = url) => ({ id: id as WebhookId, url: at, headers: {} });
const before = (kind: Destination["kind"]): Destination =>
  ({
    kind,
    webhooks: [webhook(1, "a"), webhook(2, "b"), webhook(3, "a")],
    mappings: [
      { id: 4, name: "Four" },
      { id: 5, name: "Five" },
    ] as Mapping[],
  }) as Destination;

test.each<[Parameters<typeof misplacedIn>[0], Destination | null, string | null]>([
  [{}, null, null],
  [{}, before("webhooks"), null],
  [{ webhooks: [webhook(1)] }, null, null],
  [{ kind: "webhooks-actions", mappings: [{ name: "M", url }] }, null, null],
  [{ kind: "webhooks-actions" }, before("webhooks-actions"), null],
  [{}, before("webhooks-actions"), "A destination keeps its kind. Create another one."],
  [
    { kind: "webhooks-actions" },
    before("webhooks"),
    "A destination keeps its kind. Create another one.",
  ],
  [
    { mappings: [{ name: "M", url }] },
    null,
    'mappings: Only a destination of the kind "webhooks-actions" has mappings.',
  ],
  [
    { kind: "webhooks-actions", webhooks: [webhook(1)] },
    null,
    'webhooks: A destination of the kind "webhooks-actions" has mappings instead.',
  ],
])("members of %j beside what was there", (draft, known, said) => {
  expect(misplacedIn(draft, known)?.message ?? null).toBe(said);
});

test("a mapping that keeps its name keeps its webhook, whose address is the text of its URL", () => {
  const mappings = [
    mappingOf({ name: "Five", url }),
    mappingOf({ name: "New", url: { "@path": "$.url" } }),
    mappingOf({ name: "Four", url: { "@path": "$.url" } }),
  ];
  expect(webhooksOfMappings(mappings, before("webhooks-actions"))).toEqual([
    { id: 5, url, headers: {} },
    { url: "", headers: {} },
    { id: 4, url: "", headers: {} },
  ]);
  expect(webhooksOfMappings(mappings.slice(0, 1), null)).toEqual([{ url, headers: {} }]);
});

test("webhooks that stay keep their ids, each once, with the headers they get", () => {
  const headers = { a: "1" };
  const wanted = ["a", "c", "a", "a", "b"].map((at) => ({ url: at, headers }));
  expect(withKnownWebhooks(wanted, before("webhooks"))).toEqual([
    { id: 1, url: "a", headers },
    { url: "c", headers },
    { id: 3, url: "a", headers },
    { url: "a", headers },
    { id: 2, url: "b", headers },
  ]);
  expect(withKnownWebhooks(wanted.slice(0, 1), null)).toEqual([{ url: "a", headers }]);
});

test("webhooks take their bounds, and nothing beyond them", () => {
  const many = (count: number) => Array.from({ length: count }, () => ({ url, headers: {} }));
  const headers = (count: number, more: Record<string, string> = {}) => [
    {
      url,
      headers: {
        ...Object.fromEntries(Array.from({ length: count }, (_, nth) => [`X-${nth}`, "1"])),
        ...more,
      },
    },
  ];
  const said = (webhooks: Parameters<typeof checkWebhooks>[0]): string | null =>
    checkWebhooks(webhooks)?.message ?? null;
  expect([many(1), many(maxWebhooks), headers(maxHeaders)].map(said)).toEqual([null, null, null]);
  expect(said([])).toBe("A destination needs at least one webhook.");
  expect(said(many(maxWebhooks + 1))).toBe(
    `A destination has at most ${maxWebhooks} webhooks, not ${maxWebhooks + 1}.`,
  );
  expect(said(headers(maxHeaders + 1))).toBe(
    `A webhook has at most ${maxHeaders} headers, not ${maxHeaders + 1}.`,
  );
  expect(said(headers(1, { "x-0": "2" }))).toBe("The header x-0 appears twice, in two spellings.");
  expect(said(headers(0, { "a b": "1" }))).toMatch(/a b/);
  expect(said([...many(1), { url: "ftp://a/", headers: {} }])).toMatch(/http/);
});
