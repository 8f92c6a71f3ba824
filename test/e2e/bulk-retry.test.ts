import type { Page } from "playwright-core";
import { describe, expect } from "vitest";
import { retriesPage } from "./pages/retries.ts";
import { test } from "./support/inspector-test.ts";
import type { RunningInspector } from "./support/running-inspector.ts";

/** Failed for good at a webhook that has come back meanwhile. */
async function fail(inspector: RunningInspector, count: number): Promise<void> {
  const { endpoint, destination } = await inspector.shop({
    steps: [{ do: "answer", status: 410 }],
  });
  // An attempt that times out on a busy machine would wait for its next round.
  await inspector.call("retryProfiles.create", { name: "patient", timeoutMs: 600_000 });
  await inspector.call("destinations.update", { id: destination.id, retryProfile: "patient" });
  await inspector.call("clock.set", { mode: "paused" });
  for (let sent = 0; sent < count; sent += 1000) {
    await inspector.send(
      Array.from({ length: Math.min(1000, count - sent) }, (_, nth) => ({
        userId: `u_${sent + nth}`,
        event: "Order Completed",
      })),
    );
  }
  await inspector.call("pipeline.settle", { timeoutMs: 200_000 });
  await inspector.call("endpoints.update", {
    id: endpoint.id,
    steps: [{ do: "answer", status: 200 }],
  });
}

/** Number in the first heading like `1,200 deliveries`. */
const numberIn = (text: string | null): number =>
  Number(/[\d,]+/.exec(text ?? "")?.[0].replaceAll(",", ""));

const states = async (page: Page): Promise<number[]> =>
  Promise.all(
    (["waiting", "failed"] as const).map(async (state) =>
      numberIn(await retriesPage(page).state(state).textContent()),
    ),
  );

describe("many deliveries", () => {
  test("are retried together: counted first, then with progress to the end", async ({
    open,
    inspector,
  }) => {
    await fail(inspector, 40);
    const { page } = await open("/retries?state=failed");
    const retries = retriesPage(page);
    await expect.poll(() => states(page)).toEqual([0, 40]);
    await retries.retryAll.click();
    await retries.title.filter({ hasText: "Retry 40 deliveries now?" }).waitFor();
    await retries.confirm.click();
    await retries.title.filter({ hasText: "40 deliveries requeued" }).waitFor();
    await expect.poll(() => retries.progress.getAttribute("aria-valuenow")).toBe("40");
    await retries.close.click();
    await inspector.call("clock.advance", { to: "idle" });
    await expect.poll(() => states(page)).toEqual([0, 0]);
    await expect
      .poll(async () => (await inspector.call("deliveries.list", { state: "delivered" })).total)
      .toBe(40);
  });

  test("are counted for the filter that is chosen, whichever count comes last", async ({
    open,
    inspector,
  }) => {
    await fail(inspector, 3);
    const [endpoint] = (await inspector.call("endpoints.list", {})).items;
    await inspector.call("endpoints.update", {
      id: endpoint?.id ?? "",
      steps: [{ do: "answer", status: 503 }],
    });
    await inspector.send([{ userId: "u_w", event: "Waits" }]);
    await inspector.call("pipeline.settle", {});
    const { page } = await open("/retries?state=failed");
    const retries = retriesPage(page);
    await expect.poll(() => states(page)).toEqual([1, 3]);
    const late = Promise.withResolvers<void>();
    let count = 0;
    inspector.answer("deliveries.retryAll", async (answered) => {
      count += 1;
      if (count === 1) await late.promise;
      return answered();
    });
    await retries.retryAll.click();
    await retries.title.filter({ hasText: "Counting" }).waitFor();
    await expect.poll(() => count).toBe(1);
    await page.keyboard.press("Escape");
    await retries.state("waiting").click();
    await expect.poll(() => retries.rows.count()).toBe(1);
    await retries.retryAll.click();
    const title = retries.title.filter({ hasText: "Retry 1 delivery now?" });
    await title.waitFor();
    const answer = page.waitForResponse((response) => response.url().endsWith("retry"));
    late.resolve();
    await (await answer).finished();
    await page.evaluate("new Promise((resolve) => requestAnimationFrame(resolve))");
    expect(await title.count()).toBe(1);
  });

  test("are cancelled on the way, and the rest stay as they were", async ({ open, inspector }) => {
    // More than the job does at once.
    const count = 500;
    await fail(inspector, count);
    const { page } = await open("/retries?state=failed");
    const retries = retriesPage(page);
    await expect.poll(() => states(page)).toEqual([0, count]);
    await retries.retryAll.click();
    await retries.title.filter({ hasText: `Retry ${count} deliveries now?` }).waitFor();
    // Until the page hears how far it is, it offers to cancel.
    const reading = inspector.hold("jobs.get");
    const cancelling = inspector.hold("jobs.cancel");
    cancelling.release();
    await retries.confirm.click();
    await retries.cancelRest.click();
    await expect.poll(() => cancelling.inputs).toHaveLength(1);
    reading.release();
    // A quick machine may be done before. `deliveries.test.ts` shows that it stops on the way.
    const end = /Cancelled after \d+ of 500|500 deliveries requeued/;
    await retries.title.filter({ hasText: end }).waitFor();
    const taken = numberIn(await retries.title.textContent());
    await retries.close.click();
    await inspector.call("clock.advance", { to: "idle" });
    await expect.poll(() => states(page)).toEqual([0, count - taken]);
  });

  test("can be asked for again when Hookyard was restarted during the job", async ({
    open,
    inspector,
  }) => {
    await fail(inspector, 1);
    const [endpoint] = (await inspector.call("endpoints.list", {})).items;
    const id = endpoint?.id ?? "";
    await inspector.call("endpoints.update", { id, steps: [{ do: "answer", status: 410 }] });
    const guarded = await open("/retries?state=failed");
    const { page } = guarded;
    // The browser logs each answer 404.
    guarded.expect(/status of 404/);
    const retries = retriesPage(page);
    await expect.poll(() => states(page)).toEqual([0, 1]);
    const body = { code: "not_found", message: "There is no job job_1." };
    inspector.answer("jobs.get", async () => ({ status: 404, body }));
    await retries.retryAll.click();
    await retries.title.filter({ hasText: "Retry 1 delivery now?" }).waitFor();
    await retries.confirm.click();
    await retries.title.filter({ hasText: "Hookyard was restarted" }).waitFor();
    await retries.close.click();
    await retries.dialog.waitFor({ state: "detached" });
    await retries.retryAll.click();
    await retries.title.filter({ hasText: "Retry 1 delivery now?" }).waitFor();
  });

  test("are walked with j and k, retried with r and opened with Enter", async ({
    open,
    inspector,
  }) => {
    await fail(inspector, 3);
    const { page } = await open("/retries?state=failed");
    const retries = retriesPage(page);
    await expect.poll(() => retries.rows.count()).toBe(3);
    const next = await retries.rows.nth(1).locator("code").last().textContent();
    await page.keyboard.press("j");
    await page.keyboard.press("r");
    await expect.poll(() => retries.rows.count()).toBe(2);
    await page.keyboard.press("j");
    await expect.poll(() => retries.active.locator("code").last().textContent()).toBe(next);
    await page.keyboard.press("Enter");
    await page.getByRole("region", { name: "Message details" }).waitFor();
  });

  test("stand in the order of their due times, as far as one scrolls, and leave when their time has come", async ({
    open,
    inspector,
  }) => {
    await inspector.shop({ steps: [{ do: "answer", status: 503 }] });
    await inspector.call("clock.set", { mode: "paused" });
    await inspector.send(
      Array.from({ length: 300 }, (_, nth) => ({ userId: `u_${nth}`, event: "Order Completed" })),
    );
    await inspector.call("pipeline.settle", { timeoutMs: 200_000 });
    const { page } = await open("/retries");
    const retries = retriesPage(page);
    await expect.poll(() => states(page)).toEqual([300, 0]);
    const due = await inspector.call("deliveries.list", {
      state: "waiting",
      order: "due",
      limit: 300,
    });
    const users = due.items.map(({ userId }) => userId);
    const first = retries.rows.first().locator("code");
    await expect.poll(() => first.textContent()).toBe(users[0]);
    await retries.grid.focus();
    await page.keyboard.press("End");
    await expect.poll(() => retries.active.locator("code").textContent()).toBe(users.at(-1));
    await expect.poll(() => retries.rows.count()).toBeLessThan(100);
    // End is pressed as soon as the first row is there.
    await page.evaluate(`(() => {
      const grid = document.activeElement;
      new MutationObserver((_, watch) => {
        if (grid.querySelector("[aria-rowindex='2'][aria-selected=true]") === null) return;
        watch.disconnect();
        grid.dispatchEvent(new KeyboardEvent("keydown", { key: "End", bubbles: true }));
      }).observe(grid, { subtree: true, childList: true, attributes: true });
    })()`);
    await page.keyboard.press("Home");
    await expect.poll(() => retries.active.locator("code").textContent()).toBe(users.at(-1));
    // Another list begins at its own top.
    await page.getByRole("combobox", { name: "Destination" }).selectOption("Billing");
    await expect.poll(() => first.textContent()).toBe(users[0]);
    await inspector.call("clock.advance", { to: "next-due" });
    const next = await inspector.call("deliveries.list", {
      state: "waiting",
      order: "due",
      limit: 1,
    });
    expect(next.items[0]?.userId).not.toBe(users[0]);
    await expect.poll(() => first.textContent()).toBe(next.items[0]?.userId);
  });
});
