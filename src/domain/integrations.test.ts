import { describe, expect, test } from "vitest";
import { answerForWebhooks } from "./integrations.ts";
import type { JsonObject } from "./json.ts";

describe("the integrations object", () => {
  test.each<[JsonObject, string]>([
    [{}, "routed"],
    [{ All: true }, "routed"],
    [{ Mixpanel: false }, "routed"],
    [{ Webhooks: true }, "routed"],
    [{ Webhooks: {} }, "routed"],
    [{ Webhooks: false }, "integrations_false"],
    [{ All: true, Webhooks: false }, "integrations_false"],
    [{ All: false, Webhooks: false }, "integrations_false"],
    [{ All: false }, "integrations_all_false"],
    [{ All: false, Mixpanel: true }, "integrations_all_false"],
    [{ All: false, Webhooks: true }, "routed"],
    [{ All: false, Webhooks: { option: 1 } }, "routed"],
    [{ All: false, Webhooks: {} }, "routed"],
    [{ All: {} }, "routed"],
    [JSON.parse(`{"__proto__":{"All":false,"Webhooks":false}}`) as JsonObject, "routed"],
  ])("%j means %s, without a warning", (integrations, reason) => {
    expect(answerForWebhooks(integrations)).toEqual({
      routed: reason === "routed",
      reason,
      detail: expect.stringMatching(/\.$/),
      warnings: [],
    });
  });

  test("is warned about in the order of its members, with long values cut", () => {
    const { warnings } = answerForWebhooks({ Webhooks: ["x".repeat(36)], all: ["x".repeat(37)], alle: 1, webhook: 1, Other: "false" });
    expect(warnings).toEqual([
      expect.stringContaining(`\`Webhooks: ["${"x".repeat(36)}"]\` in the integrations changes nothing`),
      expect.stringContaining(`\`All: ["${"x".repeat(37)}"…\` was probably meant`),
    ]);
    expect(answerForWebhooks({ webhooks: true, All: "no" }).warnings).toEqual([
      expect.stringContaining("`webhooks`"),
      expect.stringContaining("`All: "),
    ]);
  });

  test.each<[JsonObject, string, string]>([
    [{ All: " TRUE " }, "routed", "`All: true` was probably meant"],
    [{ All: "1" }, "routed", "`All: true` was probably meant"],
    [{ All: "0" }, "routed", "`All: false` was probably meant"],
    [{ all: false }, "routed", "`All: false` was probably meant"],
    [{ ALL: false }, "routed", "`All: false` was probably meant"],
    [{ webhooks: false }, "routed", "`Webhooks: false` was probably meant"],
    [{ WEBHOOKS: { a: 1 } }, "routed", '`Webhooks: {"a":1}` was probably meant'],
    [{ All: false, webhooks: true }, "integrations_all_false", "`Webhooks: true` was probably meant"],
    [{ Webhooks: false, webHooks: true }, "integrations_false", "`webHooks`"],
    [{ all: false, All: true }, "routed", "`all`"],
    [{ All: "false" }, "routed", "`All: false` was probably meant"],
    [{ All: 0 }, "routed", "`All: false` was probably meant"],
    [{ All: null }, "routed", "changes nothing"],
    [{ Webhooks: "false" }, "routed", "`Webhooks: false` was probably meant"],
    [{ Webhooks: null }, "routed", "true, false or an options object was probably meant"],
    [{ Webhooks: [] }, "routed", "changes nothing"],
    [{ All: false, Webhooks: "true" }, "integrations_all_false", "`Webhooks: true` was probably meant"],
    [{ All: false, Webhooks: 1 }, "integrations_all_false", "`Webhooks: true` was probably meant"],
    [{ All: false, Webhooks: null }, "integrations_all_false", "changes nothing"],
  ])("%j means %s, and a warning says %s", (integrations, reason, warning) => {
    const answer = answerForWebhooks(integrations);
    expect(answer).toMatchObject({ routed: reason === "routed", reason });
    expect(answer.warnings).toEqual([expect.stringContaining(warning)]);
  });
});
