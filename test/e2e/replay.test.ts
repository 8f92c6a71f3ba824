import { describe, expect } from "vitest";
import { attemptPage } from "./pages/attempt.ts";
import { detailsPage } from "./pages/details.ts";
import { framePage } from "./pages/frame.ts";
import { livePage } from "./pages/live.ts";
import { test } from "./support/inspector-test.ts";
import type { RunningInspector } from "./support/running-inspector.ts";

/** Its first attempt fails, and the next one succeeds. */
async function sendOneThatWaits(inspector: RunningInspector): Promise<void> {
  await inspector.shop({ steps: [{ do: "answer", status: 503 }, { do: "answer" }] });
  await inspector.call("clock.set", { mode: "paused" });
  await inspector.send([{ userId: "u_1", event: "Order Completed" }]);
}

describe("a message", () => {
  test("is replayed as a new one that says what it replays", async ({ open, inspector }) => {
    await inspector.shop();
    await inspector.send([{ userId: "u_1", event: "Order Completed", messageId: "first-of-all" }]);
    await inspector.call("pipeline.settle", {});
    const { page } = await open();
    const live = livePage(page);
    const details = detailsPage(page);
    await live.row(/Order Completed/).click();
    await details.replay.click();
    await details.trace.filter({ hasText: "a replay of" }).waitFor();
    await details.mark(/^Round 1: success/).waitFor();
    const { items } = await inspector.call("messages.list", {});
    expect(items.map(({ state }) => state)).toEqual(["delivered", "delivered"]);
    expect(items[0]?.messageId).not.toBe("first-of-all");
    await live.tail.filter({ hasText: "1 new" }).click();
    await expect.poll(() => live.count()).toBe(2);
    await details.trace.getByRole("link", { name: "open", exact: true }).click();
    await details.pane.getByText("first-of-all").first().waitFor();
    for (const isPinned of [true, false]) {
      await details.pane.getByRole("button", { name: /^Pin/ }).click();
      await details.pane.getByRole("button", { name: /^Pin/, pressed: isPinned }).waitFor();
    }

    const replays = inspector.hold("messages.replay");
    await details.replay.click();
    await expect.poll(() => replays.inputs).toHaveLength(1);
    await framePage(page).viewLink("Sources").click();
    await page.waitForURL(/#\/sources/);
    replays.release();
    const newest = async () => (await inspector.call("messages.list", {})).items[0]?.messageId;
    await expect.poll(newest).not.toBe(items[0]?.messageId);
    await framePage(page)
      .toast.filter({ hasText: `Replayed as ${await newest()}` })
      .waitFor();
    expect(page.url()).toContain("#/sources");
  });

  test("is retried now with r, which opens a new window when the last one is over", async ({
    open,
    inspector,
  }) => {
    const { endpoint } = await inspector.shop({
      steps: [{ do: "answer", status: 410 }, { do: "answer" }],
    });
    await inspector.send([{ userId: "u_1", event: "Order Completed" }]);
    await inspector.call("pipeline.settle", {});
    const { page } = await open();
    const details = detailsPage(page);
    await livePage(page)
      .row(/failed, last 410, 1 attempt/)
      .click();
    await details.retryNow.waitFor();
    await page.keyboard.press("r");
    await details.state.filter({ hasText: "delivered" }).waitFor();
    await details.pane.getByRole("combobox", { name: "Retry window" }).waitFor();
    expect((await inspector.call("endpoints.get", { id: endpoint.id })).position.received).toBe(2);
  });

  test("whose attempts are too large for one answer shows the bytes of each", async ({
    open,
    inspector,
  }) => {
    await inspector.shop({ steps: [{ do: "answer", status: 503, body: "busy ".repeat(13_000) }] });
    await inspector.call("clock.set", { mode: "paused" });
    await inspector.send([
      { userId: "u_1", event: "Large", properties: { text: "x".repeat(30_000) } },
    ]);
    await inspector.call("clock.advance", { to: "idle" });
    const { items } = await inspector.call("messages.list", {});
    const id = items[0]?.id ?? "";
    const { deliveries } = await inspector.call("messages.get", { id });
    await inspector.call("deliveries.retry", { id: deliveries[0]?.id ?? "" });
    await inspector.call("clock.advance", { to: "idle" });
    const message = await inspector.call("messages.get", { id });
    expect(Buffer.byteLength(JSON.stringify(message))).toBeLessThan(1_000_000);
    const attempts = message.deliveries[0]?.attempts ?? [];
    expect(attempts[0]).toMatchObject({ leftOut: true, response: { body: "" } });
    expect(attempts.at(-1)).toMatchObject({ leftOut: false });

    const guarded = await open(`/live/${id}/attempts/${attempts[0]?.id}`);
    const { page } = guarded;
    const attempt = attemptPage(page);
    await attempt.response.getByText("Content-Length: 65000").waitFor();
    await attempt.pane.getByText("65,000 body bytes", { exact: true }).waitFor();
    await attempt.request.getByText("xxxxxxxx").first().waitFor();

    // What is copied has them too, or it says why not.
    inspector.answer("messages.get", async (answered) => {
      const { status, body } = await answered();
      const { deliveries: whole, ...rest } = body as typeof message;
      return {
        status,
        body: { ...rest, deliveries: whole.map((each) => ({ ...each, payload: "" })) },
      };
    });
    const payloads = inspector.hold("deliveries.get");
    await page.evaluate(`location.hash = "#/live/${id}"`);
    const { copy, menuItem } = detailsPage(page);
    await expect.poll(() => payloads.inputs).toHaveLength(1);
    await copy.click();
    await menuItem("payload").click();
    payloads.release();
    const { toast } = framePage(page);
    await toast.filter({ hasText: "Copied the payload" }).waitFor();
    expect(await page.evaluate("navigator.clipboard.readText()")).toContain("xxxxxxxx");

    guarded.expect(/status of 503/);
    const refusal = { code: "unavailable", message: "The data file is gone." };
    inspector.answer("deliveries.attempt", async () => ({ status: 503, body: refusal }));
    await copy.click();
    await menuItem("HAR of the attempts").click();
    await toast.filter({ hasText: refusal.message }).waitFor();
    const [ofText, ofCross] = await page.evaluate<string[]>(
      `[".toast", ".toast [aria-label=Dismiss]"]
        .map((part) => getComputedStyle(document.querySelector(part)).color)`,
    );
    expect(ofCross).toBe(ofText);
  });

  test("that waits is cancelled, and can be retried after that", async ({ open, inspector }) => {
    await sendOneThatWaits(inspector);
    const { page } = await open();
    const details = detailsPage(page);
    await livePage(page)
      .row(/waiting/)
      .click();
    await details.cancel.click();
    await details.state.filter({ hasText: "cancelled" }).waitFor();
    await details.retryNow.click();
    await details.state.filter({ hasText: "delivered" }).waitFor();
  });

  test("is retried while the answer to the cancellation is on its way", async ({
    open,
    inspector,
  }) => {
    await sendOneThatWaits(inspector);
    const { page } = await open();
    const details = detailsPage(page);
    const answerNow = Promise.withResolvers<void>();
    inspector.answer("deliveries.cancel", async (answered) => {
      const answer = await answered();
      await answerNow.promise;
      return answer;
    });
    await livePage(page)
      .row(/waiting/)
      .click();
    await details.cancel.click();
    await details.state.filter({ hasText: "cancelled" }).waitFor();
    await details.retryNow.click();
    await details.state.filter({ hasText: "delivered" }).waitFor();
    answerNow.resolve();
  });

  test("is copied as cURL that sends the same again", async ({ open, inspector }) => {
    await inspector.shop();
    await inspector.send([{ userId: "o'neil", event: "Order Completed" }]);
    const { page } = await open();
    const details = detailsPage(page);
    await livePage(page)
      .row(/Order Completed/)
      .click();
    await details.mark(/^Round 1: success/).waitFor();
    await page.keyboard.press("c");
    await framePage(page).toast.filter({ hasText: "Copied the cURL command" }).waitFor();
    const command = await page.evaluate<string>("navigator.clipboard.readText()");
    expect(command).toContain(inspector.ingestUrl);
    expect(command).toMatch(/^curl /);
  });
});
