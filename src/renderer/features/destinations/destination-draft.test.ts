import { afterEach, describe, expect, test } from "vitest";
import { hideSecrets, masked } from "../../transport/secrets.ts";
import {
  changesOf,
  draftOf,
  isSame,
  newDraft,
  problemsOf,
  withoutSecret,
  withUrl,
  type Destination,
  type DestinationDraft,
} from "./destination-draft.ts";
import { mappingDraftOf, mappingInput, newMapping, switchedData } from "./mapping-draft.ts";

const destination: Destination = {
  id: "dst_000000001",
  kind: "webhooks",
  mappings: [],
  name: "Billing",
  enabled: true,
  sourceIds: ["src_000000001"],
  webhooks: [
    { id: "whk_000000001", url: "https://example.com/hook", headers: { "X-Team": "billing" } },
  ],
  hasSharedSecret: true,
  retryProfile: "documented",
  payload: "documented",
  audienceCalls: "identify",
  filters: [],
  connectionMode: "cloud",
  createdAt: "2026-11-21T16:47:20.118Z",
};

const draft = (members: Partial<DestinationDraft>): DestinationDraft => ({
  ...draftOf(destination),
  ...members,
});

afterEach(() => hideSecrets(false));

describe("a destination being set up", () => {
  test("begins with one empty URL, the only source, and the documented profile", () => {
    expect(newDraft(["src_1"])).toMatchObject({
      sourceIds: ["src_1"],
      webhooks: [{ url: "" }],
      retryProfile: "documented",
      enabled: true,
    });
    expect(newDraft(["src_1", "src_2"]).sourceIds).toEqual([]);
    expect(problemsOf(newDraft([])).isWrong).toBe(true);
  });

  test("one that exists is unchanged until something is typed, and its secret stays as it is", () => {
    expect(isSame(draftOf(destination), draftOf(destination))).toBe(true);
    expect(changesOf(draftOf(destination))).not.toHaveProperty("sharedSecret");
    expect(isSame(draft({ sharedSecret: "new" }), draftOf(destination))).toBe(false);
    expect(changesOf(draft({ sharedSecret: null }))).toHaveProperty("sharedSecret", null);
    expect(isSame(draft({ payload: "full" }), draftOf(destination))).toBe(false);
  });

  test("one that is begun already gets the URL of a test endpoint too", () => {
    const url = "http://endpoint.test/a";
    const urlsOf = (each: DestinationDraft) => each.webhooks.map((webhook) => webhook.url);
    expect(urlsOf(withUrl(newDraft([]), url))).toEqual([url]);
    const begun = draft({ name: "Bills" });
    const [first = ""] = urlsOf(begun);
    expect(withUrl(begun, url)).toEqual({
      ...begun,
      webhooks: [...begun.webhooks, { url, headers: [] }],
    });
    expect(withUrl(begun, first)).toEqual(begun);
    const headers: [string, string][] = [["X-Team", "a"]];
    const half = draft({ webhooks: [...begun.webhooks, { url: "", headers }] });
    expect(withUrl(half, url).webhooks[1]).toEqual({ url, headers });

    const mapped = withUrl(draft({ kind: "webhooks-actions", mappings: [newMapping([])] }), url);
    expect(mapped.mappings).toEqual([{ ...newMapping([]), url }]);
    expect(withUrl(mapped, first).mappings.map((each) => [each.name, each.url])).toEqual([
      ["Mapping 1", url],
      ["Mapping 2", first],
    ]);
    expect(urlsOf(mapped)).toEqual([first]);
  });

  test("a secret that was typed is left out of what the browser stores, and only that", () => {
    const typed = draft({ name: "Bills", sharedSecret: "s3cret" });
    expect(withoutSecret(typed)).toEqual({
      ...typed,
      sharedSecret: undefined,
      hasLostSecret: true,
    });
    expect(changesOf(withoutSecret(typed))).not.toHaveProperty("sharedSecret");
    for (const sharedSecret of [null, undefined, ""])
      expect(withoutSecret(draft({ sharedSecret }))).toEqual(draft({ sharedSecret }));
  });

  test("what is wrong is said at the field that is wrong", () => {
    const problems = problemsOf(
      draft({
        name: " ",
        webhooks: [
          {
            url: "https://example.com/a",
            headers: [
              ["X-A", "1"],
              ["x-a", "2"],
              ["Host", "x"],
            ],
          },
          { url: "example.com", headers: [] },
          { url: "https://example.com/a", headers: [["", ""]] },
        ],
      }),
    );
    expect(problems.name).toMatch(/name/);
    expect(problems.webhooks.map(({ url }) => url)).toEqual([
      null,
      expect.stringContaining("http://"),
      expect.stringContaining("Webhook 1"),
    ]);
    expect(problems.webhooks[0]?.headers).toEqual([
      null,
      expect.stringContaining("twice"),
      expect.stringContaining("Hookyard sets"),
    ]);
    expect(problems.webhooks[2]?.headers).toEqual([expect.stringContaining("needs a name")]);
    expect(problems.isWrong).toBe(true);
    expect(problemsOf(draftOf(destination)).isWrong).toBe(false);
  });

  test("dots of hidden secrets are not wrong, and what is wrong does not name them", () => {
    hideSecrets(true);
    const url = "https://example.com/hook?token=s3cr3t-v4lu3";
    const headers: [string, string][] = [["Authorization", "Bearer s3cr3t"]];
    const typed = masked(draft({ webhooks: [{ url, headers }] }));
    expect(JSON.stringify(typed)).not.toContain("s3cr3t");
    expect(problemsOf(typed)).toMatchObject({ isWrong: false });
    const mapping = { ...newMapping([]), url };
    const kind = "webhooks-actions";
    expect(problemsOf(masked(draft({ kind, mappings: [mapping] })))).toMatchObject({
      isWrong: false,
    });
    const twice = masked(
      draft({ kind, mappings: [1, 2].map(() => ({ ...mapping, name: "a@b.test" })) }),
    );
    expect(problemsOf(twice).mappings[1]?.name).toMatch(/Another mapping has the name ••/);
  });

  test("a value of a mapping is read from its text as it was written", () => {
    const mapping = {
      id: "whk_000000001",
      name: "Orders",
      enabled: true,
      trigger: null,
      url: { "@template": "https://a.test/{{type}}" },
      method: "PUT" as const,
      headers: { "X-A": "$.not a path", "X-B": { "@path": "$.type" }, "X-C": '"quoted"' },
      data: { a: { "@path": "type" }, b: "{{", c: 5, d: { "@template": "{{a}} b" }, e: ["$."] },
      batch: { enabled: true, size: 10, keys: ["url" as const], waitMs: 5 },
    };
    const { id: _, ...input } = mapping;
    expect(mappingInput(mappingDraftOf(mapping))).toEqual(input);
    const whole = mappingDraftOf({ ...mapping, headers: { "@path": "$.a" }, data: { a: 1 } });
    expect(switchedData(switchedData(whole.data)!)).toEqual([["a", "1"]]);
    expect(mappingInput(mappingDraftOf({ ...mapping, data: null })).data).toBeNull();
    expect(whole.headers).toMatch("@path");
    expect(mappingInput({ ...whole, data: [] }).data).toEqual({ "@path": "$." });
  });

  test("fields are not switched to JSON while one would be lost", () => {
    expect(switchedData([["a", "$.a"]])).toBe(JSON.stringify({ a: { "@path": "$.a" } }, null, 2));
    const lost: [string, string][] = [
      ["b", "not json"],
      ["", "$.b"],
      ["a", "$.b"],
    ];
    for (const row of lost) expect(switchedData([["a", "$.a"], row])).toBeNull();
    const untouched: [string, string] = ["", ""];
    expect(switchedData([["a", "1"], untouched])).toBe(JSON.stringify({ a: 1 }, null, 2));
    expect(switchedData([untouched])).toBe(JSON.stringify({ "@path": "$." }, null, 2));
  });

  test("what is wrong with a mapping is said at its part, and a half typed row is a change", () => {
    const actions: Destination = { ...destination, kind: "webhooks-actions", webhooks: [] };
    const typed = draft({
      kind: "webhooks-actions",
      mappings: [
        {
          ...newMapping([]),
          name: "",
          trigger: 'type = "track',
          url: "ftp://a.test",
          headers: [
            ["X-A", "1"],
            ["x-a", "2"],
          ],
          data: [
            ["a", "$.a"],
            ["b", "not json"],
            ["", ""],
          ],
          batch: { ...newMapping([]).batch, size: "4001" },
        },
      ],
    });
    expect(problemsOf(typed)).toMatchObject({
      isWrong: true,
      webhooks: [],
      mappings: [
        {
          name: expect.stringContaining("needs a name"),
          trigger: expect.stringMatching(/character \d+/),
          url: expect.stringContaining("http"),
          headers: [null, expect.stringContaining("twice")],
          data: [null, expect.stringContaining("Write a path"), expect.stringContaining("Enter a")],
          size: expect.stringContaining("4,000"),
        },
      ],
    });
    const before = { ...draftOf(actions), mappings: [] };
    const half = { ...before, mappings: [{ ...newMapping([]), data: [["", ""]] as never }] };
    expect(isSame(before, draftOf(actions))).toBe(true);
    expect(isSame(half, draftOf(actions))).toBe(false);
  });
});
