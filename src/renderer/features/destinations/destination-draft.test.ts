import { describe, expect, test } from "vitest";
import {
  changesOf,
  draftOf,
  isChanged,
  newDraft,
  problemsOf,
  type Destination,
  type DestinationDraft,
} from "./destination-draft.ts";

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
    expect(isChanged(draftOf(destination), destination)).toBe(false);
    expect(changesOf(draftOf(destination))).not.toHaveProperty("sharedSecret");
    expect(isChanged(draft({ sharedSecret: "new" }), destination)).toBe(true);
    expect(changesOf(draft({ sharedSecret: null }))).toHaveProperty("sharedSecret", null);
    expect(isChanged(draft({ payload: "full" }), destination)).toBe(true);
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
});
