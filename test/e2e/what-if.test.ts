import { describe, expect } from "vitest";
import { attemptPage } from "./pages/attempt.ts";
import { scenariosPage } from "./pages/scenarios.ts";
import { whatIfPage } from "./pages/what-if.ts";
import { seriousFindings } from "./support/axe.ts";
import { test } from "./support/inspector-test.ts";

describe("what if", () => {
  test("is asked on an attempt with a key, shows both timelines and the loss, and is kept as a scenario that runs", async ({
    open,
    inspector,
  }) => {
    const source = await inspector.call("sources.create", {
      name: "Shop web",
      writeKey: inspector.writeKey,
    });
    const [billing, ledger] = [
      await inspector.call("endpoints.create", {
        name: "billing",
        steps: [{ do: "answer", status: 503, times: 3 }, { do: "hang" }],
      }),
      await inspector.call("endpoints.create", {
        name: "ledger",
        steps: [{ do: "reset", times: 4 }, { do: "answer" }],
      }),
    ];
    await inspector.call("destinations.create", {
      name: "Billing",
      sourceIds: [source.id],
      webhooks: [{ url: billing.url }, { url: ledger.url }],
    });
    await inspector.call("clock.set", { mode: "paused" });
    await inspector.send([{ userId: "u_1", event: "Order Completed" }]);
    await inspector.call("pipeline.settle", {});
    await inspector.call("clock.advance", { to: "idle" });
    const id = (await inspector.call("messages.list", {})).items[0]?.id ?? "";
    const message = await inspector.call("messages.get", { id });
    const attempt = message.deliveries[0]?.attempts.find(
      ({ round, webhookUrl }) => round === 3 && webhookUrl === billing.url,
    );
    const before = JSON.stringify(message);

    const { page } = await open(`/live/${id}/attempts/${attempt?.id}`);
    const whatIf = whatIfPage(page);
    await whatIf.open.waitFor();
    await page.keyboard.press("w");
    await whatIf.part(/^As it was delivered in round 5/).waitFor();
    expect(await whatIf.pane.evaluate((pane) => pane.matches(":focus"))).toBe(true);
    await whatIf.part(/^If round 3 had answered 200 delivered in round 3/).waitFor();
    await whatIf
      .mark(/^Round 5: does not happen/)
      .first()
      .waitFor();
    await whatIf
      .difference(/^ledger got it round 5, 200 never one success ends the delivery/)
      .waitFor();
    await whatIf.pane.getByText(/^\S.* earlier, 4 attempts fewer$/).waitFor();
    await expect.poll(() => whatIf.changed.textContent()).toContain("{ status: 200 }was 503");
    expect(await seriousFindings(page)).toEqual([]);

    await whatIf.answer.selectOption("410 Gone");
    await whatIf.part(/^If round 3 had answered 410 delivered in round 5/).waitFor();
    await page.reload();
    await whatIf.part(/^If round 3 had answered 410 delivered in round 5/).waitFor();
    await whatIf.round.selectOption("round 5");
    await whatIf.webhook.selectOption("ledger");
    await whatIf.answer.selectOption("nothing in time");
    await whatIf.part(/^If round 5 had answered nothing in time delivered in round 6/).waitFor();

    await page.keyboard.press("Escape");
    await attemptPage(page).outcome.filter({ hasText: "success" }).waitFor();
    await page.keyboard.press("w");
    await whatIf.part(/^If round 5 had answered 503/).waitFor();
    await page.keyboard.press("s");
    const scenarios = scenariosPage(page);
    await scenarios.title.filter({ hasText: "What if round 5 had answered 503" }).waitFor();
    await page.keyboard.press("r");
    await scenarios.result.filter({ hasText: "passed" }).waitFor();
    expect(JSON.stringify(await inspector.call("messages.get", { id }))).toBe(before);
  });
});
