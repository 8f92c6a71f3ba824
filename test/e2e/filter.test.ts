import type { Page } from "playwright-core";
import { describe, expect, onTestFinished } from "vitest";
import { filterKeys } from "../../src/domain/message-filter.ts";
import { detailsPage } from "./pages/details.ts";
import { livePage } from "./pages/live.ts";
import { sharing, test } from "./support/inspector-test.ts";
import type { RunningInspector } from "./support/running-inspector.ts";

/**
 * 12 messages: 8 delivered, of 3 users with 2 events, 2 filtered, 2 rejected. The last one comes
 * three days after the others, by the pipeline's clock.
 */
async function fill(inspector: RunningInspector): Promise<void> {
  await inspector.shop();
  await inspector.call("clock.set", { mode: "paused" });
  await inspector.send([
    ...Array.from({ length: 8 }, (_, nth) => ({
      userId: `u_${nth % 3}`,
      event: nth % 2 === 0 ? "Order Completed" : "Cart Viewed",
      properties: { nth },
    })),
    { userId: "u_9", event: "Order Completed", integrations: { All: false } },
    { type: "identify", userId: "u_9", integrations: { All: false } },
    { userId: "u_9" },
  ]);
  await inspector.call("pipeline.settle", {});
  await inspector.call("clock.advance", { byMs: 3 * 86_400_000 });
  await inspector.send([{ userId: "u_8" }]);
}

const filled = sharing(fill);

/** Answers with the values that the store has, once they are released. */
async function holdValues(page: Page): Promise<() => void> {
  const released = Promise.withResolvers<void>();
  await page.route("**/api/message-values*", async (route) => {
    await released.promise;
    await route.continue();
  });
  onTestFinished(() => page.unrouteAll({ behavior: "wait" }));
  return released.resolve;
}

const hash = (page: Page): Promise<string> =>
  page.evaluate<string>("decodeURIComponent(location.hash)");

describe("the filter", () => {
  filled("narrows the list by chips, several values of one meaning any", async ({ visit }) => {
    const { page } = await visit();
    const live = livePage(page);
    await expect.poll(() => live.count()).toBe(12);

    await live.filter.click();
    await live.suggestion(/^event:/).click();
    await live.suggestion(/Order Completed/).click();
    await expect.poll(() => live.count()).toBe(5);
    await live.filter.pressSequentially("user:u_0,u_9 ");
    await expect.poll(() => live.count()).toBe(3);
    await expect.poll(() => live.chip("user").textContent()).toBe("user:u_0, u_9");
    await expect.poll(() => live.rows.count()).toBe(3);

    await live.removeChip("event").click();
    await live.filter.and(page.locator(":focus")).waitFor();
    await expect.poll(() => live.count()).toBe(6);
    await live.removeChip("user").click();
    await expect.poll(() => live.count()).toBe(12);
  });

  filled("can be written, chosen, taken back and left with keys alone", async ({ visit }) => {
    const { page } = await visit();
    const live = livePage(page);
    await expect.poll(() => live.count()).toBe(12);

    await page.keyboard.press("/");
    await page.keyboard.type("sta");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await expect.poll(() => live.filter.inputValue()).toBe("state:");
    await page.keyboard.type("fil");
    await live.highlighted.filter({ hasText: "filtered" }).filter({ hasText: "2" }).waitFor();
    await page.keyboard.press("Enter");
    await expect.poll(() => live.count()).toBe(2);
    await page.keyboard.type("rej");
    await page.keyboard.press("Escape");
    await page.keyboard.press("Backspace");
    await page.keyboard.press("Backspace");
    await page.keyboard.press("Backspace");
    await page.keyboard.type("state:rejected ");
    await expect.poll(() => live.count()).toBe(4);
    expect(await hash(page)).toContain("state=filtered,rejected");

    await page.keyboard.press("Backspace");
    await expect.poll(() => live.count()).toBe(2);
    await page.keyboard.press("Backspace");
    await expect.poll(() => live.count()).toBe(12);
    await page.keyboard.type("cart");
    await expect.poll(() => live.count()).toBe(4);

    await page.keyboard.press("Escape");
    await page.keyboard.press("Escape");
    await expect.poll(() => live.grid.evaluate((grid) => grid.matches(":focus"))).toBe(true);
    await page.keyboard.press("j");
    await live.selected.filter({ hasText: "Cart Viewed" }).waitFor();

    const expectExport = async (disabled: "true" | null): Promise<void> => {
      await live.exportMenu.click();
      const item = live.menuItem("The selected message as NDJSON");
      await expect.poll(() => item.getAttribute("aria-disabled")).toBe(disabled);
      await page.keyboard.press("Escape");
      await item.waitFor({ state: "detached" });
    };
    await expectExport(null);
    await page.keyboard.press("/");
    await page.keyboard.type(" type:identify ");
    await live.nothing.waitFor();
    await expectExport("true");
  });

  filled("is pressed on the stages as well, which show what is pressed", async ({ visit }) => {
    const { page } = await visit();
    const live = livePage(page);
    await live.stage("rejected").click();
    await expect.poll(() => live.count()).toBe(2);
    await live
      .row(/event is missing/)
      .first()
      .waitFor();
    await expect.poll(() => live.stage("rejected").getAttribute("aria-pressed")).toBe("true");
    await expect.poll(() => live.stage("rejected").textContent()).toContain("2");
    await live.stage("filtered").click();
    await expect.poll(() => live.count()).toBe(4);
    await live.stage("received").click();
    await expect.poll(() => live.count()).toBe(12);
  });

  filled(
    "searches reasons, attempts and statuses, and says when nothing matches",
    async ({ visit }) => {
      const { page } = await visit();
      const live = livePage(page);
      for (const [text, count] of [
        ["reason:integrations_all_false ", 2],
        ["attempts:>0 ", 8],
        ["status:2xx ", 8],
        ['source:"Shop web" ', 12],
        ["type:identify ", 1],
      ] as const) {
        await live.filter.fill(text);
        await expect.poll(() => live.count(), { message: text }).toBe(count);
        await page.keyboard.press("Backspace");
        if (count < 12) await expect.poll(() => live.count()).toBe(12);
        else await live.chips.waitFor({ state: "detached" });
      }
      await live.filter.fill("user:nobody ");
      await live.nothing.waitFor();
      await live.clearFilter.click();
      await expect.poll(() => live.count()).toBe(12);
    },
  );

  filled(
    "has a name of its own when it is saved, and is chosen by it after a reload",
    async ({ visit }) => {
      const { page } = await visit();
      const live = livePage(page);
      await live.stage("rejected").click();
      await live.saved.click();
      await live.menuItem("Save this filter…").click();
      await live.filterName.and(page.locator(":focus")).waitFor();
      await page.keyboard.type("What went wrong");
      await page.keyboard.press("Enter");
      await live.stage("received").click();
      await expect.poll(() => live.count()).toBe(12);
      await page.reload();
      await live.saved.click();
      await live.menuItem("What went wrong").click();
      await expect.poll(() => live.count()).toBe(2);
      await live.saved.click();
      await live.menuItem("Delete “What went wrong”").click();
      await live.saved.click();
      await live.menuItem("Save this filter…").waitFor();
      await expect.poll(() => live.menuItem("What went wrong").count()).toBe(0);
    },
  );

  filled(
    "takes a name with a space as it is typed, in any case, and puts the quotes in itself",
    async ({ visit }) => {
      const { page } = await visit();
      const live = livePage(page);
      await expect.poll(() => live.count()).toBe(12);
      await page.keyboard.press("/");
      await page.keyboard.type("event:order completed");
      await page.keyboard.press("Enter");
      await expect.poll(() => live.count()).toBe(5);
      await expect.poll(() => live.chip("event").textContent()).toBe("event:Order Completed");
      expect(await hash(page)).toContain('event="Order+Completed"');

      await page.keyboard.press("Backspace");
      await expect.poll(() => live.count()).toBe(12);
      await page.keyboard.type("event:cart viewed user:u_1 ");
      await expect.poll(() => live.count()).toBe(2);
      await expect.poll(() => live.chip("user").textContent()).toBe("user:u_1");
      await page.keyboard.press("Backspace");
      await page.keyboard.press("Backspace");
      await page.keyboard.type("event:ord");
      await live.highlighted
        .filter({ hasText: "Order Completed" })
        .filter({ hasText: "5" })
        .waitFor();
      await page.keyboard.press("Tab");
      await expect.poll(() => live.count()).toBe(5);
      await expect.poll(() => live.filter.inputValue()).toBe("");
    },
  );

  filled(
    "reads names that were written and entered before the store answered",
    async ({ visit }) => {
      const { page } = await visit();
      const live = livePage(page);
      await expect.poll(() => live.count()).toBe(12);
      const release = await holdValues(page);
      await page.keyboard.press("/");
      await page.keyboard.type("source:shop web event:cart viewed user:u_1");
      await page.keyboard.press("Enter");
      release();
      await expect.poll(() => live.count()).toBe(2);
      await expect.poll(() => live.chip("source").textContent()).toBe("source:shop web");
      await expect.poll(() => live.chip("event").textContent()).toBe("event:cart viewed");
      await expect.poll(() => live.chip("user").textContent()).toBe("user:u_1");
    },
  );

  filled(
    "reads names also when the field was left before the store answered",
    async ({ visit }) => {
      const { page } = await visit();
      const live = livePage(page);
      await expect.poll(() => live.count()).toBe(12);
      const release = await holdValues(page);
      await page.keyboard.press("/");
      await page.keyboard.type("event:cart viewed user:u_1");
      await live.exportMenu.focus();
      release();
      await expect.poll(() => live.count()).toBe(2);
      await expect.poll(() => live.chip("event").textContent()).toBe("event:cart viewed");
      await expect.poll(() => live.chip("user").textContent()).toBe("user:u_1");
      await expect.poll(() => live.filter.inputValue()).toBe("");
      await expect.poll(() => live.suggestions.count()).toBe(0);
    },
  );

  filled("leaves the number of matches in view while it is written", async ({ visit }) => {
    const { page } = await visit("/live?type=track");
    const live = livePage(page);
    await live.matching.getByText("11 messages match").waitFor();
    await page.keyboard.press("/");
    await live.suggestions.waitFor();
    const [count, menu] = await Promise.all([
      live.matching.boundingBox(),
      live.suggestions.boundingBox(),
    ]);
    expect(menu?.y ?? 0).toBeGreaterThanOrEqual((count?.y ?? Infinity) + (count?.height ?? 0));
  });

  filled("reads a time of day on the day of the pipeline's clock", async ({ visit }) => {
    const { page } = await visit("/live?since=00:00");
    const live = livePage(page);
    await live.matching.getByText("1 message matches").waitFor();
    await expect.poll(() => live.users()).toEqual(["u_8"]);
  });

  test("offers all keys in an empty field, and counts of the store for all users", async ({
    open,
    inspector,
  }) => {
    await inspector.shop();
    await inspector.send(
      Array.from({ length: 150 }, (_, nth) => ({
        userId: nth < 2 ? "first_user" : `u_${nth}`,
        event: "Cart Viewed",
      })),
    );
    await inspector.call("pipeline.settle", { timeoutMs: 200_000 });
    const { page } = await open();
    const live = livePage(page);
    await live.rows.first().waitFor();
    await page.keyboard.press("/");
    await expect.poll(() => live.suggestions.getByRole("option").count()).toBe(filterKeys.length);
    await page.keyboard.type("user:first");
    await live.highlighted.filter({ hasText: "first_user" }).filter({ hasText: "2" }).waitFor();
    await page.keyboard.press("Enter");
    await expect.poll(() => live.users()).toEqual(["first_user", "first_user"]);
    await page.keyboard.type("event:");
    await live.highlighted.filter({ hasText: "Cart Viewed" }).filter({ hasText: "150" }).waitFor();
  });

  filled(
    "leaves out what stands behind a minus, and says which keys there are",
    async ({ visit }) => {
      const { page } = await visit();
      const live = livePage(page);
      await expect.poll(() => live.count()).toBe(12);
      await page.keyboard.press("/");
      await page.keyboard.type("-state:delivered ");
      await expect.poll(() => live.count()).toBe(4);
      await live.matching.getByText("4 messages match").waitFor();
      await page.keyboard.type("-type:identify ");
      await live.matching.getByText("3 messages match").waitFor();
      await page.keyboard.type("colour:red");
      await page.getByText("Unknown key “colour”. The keys are event, user,").waitFor();
    },
  );

  filled(
    "stands in the address: back, forward, reload and a new page lead to the same rows",
    async ({ visit, open }) => {
      const { page } = await visit();
      const live = livePage(page);
      await page.keyboard.press("/");
      // Half of a key is a text until the rest is written.
      await page.keyboard.type("type:track -sta");
      await expect.poll(() => page.evaluate<string>("location.hash")).toContain("text=-sta");
      await page.keyboard.type("te:delivered ");
      await expect.poll(() => live.count()).toBe(3);
      await page.keyboard.type("cart");
      // A slow machine searches for a part of the word first, which is not in any of them either.
      const whole = "type:track -state:delivered cart";
      await live.nothing.getByText(whole).waitFor();
      const place = await page.evaluate<string>("location.hash.slice(1)");
      const other = livePage((await open(place)).page);
      await other.nothing.getByText(whole).waitFor();
      await page.goBack();
      await live.matching.getByText("3 messages match").waitFor();
      await expect.poll(() => live.filter.inputValue()).toBe("");
      await page.goBack();
      await live.matching.getByText("11 messages match").waitFor();
      await page.goForward();
      await page.reload();
      await live.matching.getByText("3 messages match").waitFor();
      await expect.poll(() => live.chip("-state").textContent()).toBe("-state:delivered");
    },
  );
});

describe("several rows", () => {
  const failing = async (inspector: RunningInspector): Promise<void> => {
    const { endpoint } = await inspector.shop({ steps: [{ do: "answer", status: 410 }] });
    await inspector.send(
      Array.from({ length: 6 }, (_, nth) => ({ userId: `u_${nth}`, event: "Order Completed" })),
    );
    await inspector.call("pipeline.settle", {});
    await inspector.call("endpoints.update", {
      id: endpoint.id,
      steps: [{ do: "answer", status: 200 }],
    });
  };

  test("are selected with Shift and the arrows, left with Esc also while a dialog is closing, and retried together", async ({
    open,
    inspector,
  }) => {
    await failing(inspector);
    const { page } = await open();
    const live = livePage(page);
    await live
      .row(/failed, last 410, 1 attempt/)
      .nth(5)
      .waitFor();
    await page.keyboard.press("j");
    await page.keyboard.press("Shift+ArrowDown");
    await page.keyboard.press("Shift+ArrowDown");
    await expect.poll(() => live.selected.count()).toBe(3);
    await live.several.getByText("3 selected").waitFor();
    await live.severalDo("Retry").click();
    await live.dialogTitle.filter({ hasText: "Retry 3 deliveries now?" }).waitFor();
    const isClosing = await page.evaluate<boolean>(`(async () => {
      const dialog = document.querySelector("[role=dialog]");
      const cancel = [...dialog.querySelectorAll("button")].find((each) => each.innerText === "Cancel");
      cancel.click();
      await null;
      cancel.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape", bubbles: true }));
      return dialog.isConnected;
    })()`);
    expect(isClosing).toBe(true);
    await expect.poll(() => live.several.count()).toBe(0);
    await live.dialogTitle.waitFor({ state: "detached" });
    await page.keyboard.press("Shift+ArrowDown");
    await page.keyboard.press("Shift+ArrowDown");
    await live.severalDo("Retry").click();
    await live.dialogTitle.filter({ hasText: "Retry 3 deliveries now?" }).waitFor();
    await live.confirmRetry.click();
    await live.dialogTitle.filter({ hasText: "3 deliveries requeued" }).waitFor();
    await live.closeDialog.click();
    await expect.poll(() => live.row(/delivered, 2 attempts/).count()).toBe(3);
    await page.keyboard.press("Escape");
    await expect.poll(() => live.several.count()).toBe(0);
    await page.keyboard.press("Shift+ArrowDown");
    await live.several.getByText("2 selected").waitFor();
    await page.keyboard.press("Escape");
    await page.keyboard.press("x");
    await live.several.getByText("1 selected").waitFor();
  });

  test("are selected with the mouse and x, replayed, exported and recorded", async ({
    open,
    inspector,
  }) => {
    await failing(inspector);
    const { page } = await open();
    const live = livePage(page);
    await live.rows.nth(5).waitFor();
    await live.rows.nth(1).click({ modifiers: ["Control"] });
    await live.rows.nth(3).click({ modifiers: ["Shift"] });
    await live.several.getByText("3 selected").waitFor();
    await live.rows.nth(2).click({ modifiers: ["Control"] });
    await live.several.getByText("2 selected").waitFor();
    for (const rows of [3, 2]) {
      await page.keyboard.press("x");
      await live.several.getByText(`${rows} selected`).waitFor();
    }
    const [file] = await Promise.all([
      page.waitForEvent("download"),
      (async () => {
        await live.severalDo("Export").click();
        await live.menuItem("As NDJSON").click();
      })(),
    ]);
    expect(file.suggestedFilename()).toMatch(/\.ndjson$/);
    await live.severalDo("Replay").click();
    await expect.poll(async () => (await inspector.call("messages.list", {})).items.length).toBe(8);
    const { items } = await inspector.call("messages.list", { limit: 2 });
    expect(new Set(items.map(({ userId }) => userId))).toEqual(new Set(["u_2", "u_4"]));
    await live.severalDo("Create a scenario").click();
    await expect.poll(() => hash(page)).toContain("/scenarios/own");
  });

  test("are walked on from the one that was clicked last, and retried with r beside the details", async ({
    open,
    inspector,
  }) => {
    await failing(inspector);
    const { page } = await open();
    const live = livePage(page);
    await live.rows.nth(5).waitFor();
    await live.rows.nth(1).click({ modifiers: ["Control"] });
    await live.rows.nth(3).click({ modifiers: ["Control"] });
    await live.several.getByText("2 selected").waitFor();
    await page.keyboard.press("j");
    await expect
      .poll(() => live.selected.allTextContents())
      .toEqual([expect.stringMatching(/u_1/)]);

    await page.keyboard.press("Enter");
    await detailsPage(page).pane.waitFor();
    await page.keyboard.press("J");
    await live.several.getByText("2 selected").waitFor();
    await page.keyboard.press("r");
    await live.dialogTitle.filter({ hasText: "Retry 2 deliveries now?" }).waitFor();
  });

  test("are retried as a filter finds them: counted first", async ({ open, inspector }) => {
    await failing(inspector);
    const { page } = await open();
    const live = livePage(page);
    await live.rows.nth(5).waitFor();
    await page.keyboard.press("/");
    await page.keyboard.type("user:u_1,u_4 ");
    await live.matching.getByText("2 messages match").waitFor();
    await live.retryThese.click();
    await live.dialogTitle.filter({ hasText: "Retry 2 deliveries now?" }).waitFor();
    await live.confirmRetry.click();
    await live.dialogTitle.filter({ hasText: "2 deliveries requeued" }).waitFor();
    await live.closeDialog.click();
    await expect.poll(() => live.row(/delivered, 2 attempts/).count()).toBe(2);
    expect((await inspector.call("messages.list", { state: "failed" })).total).toBe(4);
  });
});

test("a row says how its newest attempt failed, and a rejected one keeps its event", async ({
  open,
  inspector,
}) => {
  await inspector.shop({ steps: [{ do: "answer", status: 503 }, { do: "hang" }] });
  await inspector.call("clock.set", { mode: "paused" });
  await inspector.send([{ userId: "u_1", event: "Order Completed" }]);
  await inspector.call("pipeline.settle", {});
  await inspector.send([{ event: "Cart Viewed" }]);
  const { page } = await open();
  const live = livePage(page);
  await live.row(/Order Completed of u_1, .* waiting, last 503, 1 attempt/).waitFor();
  await live.row(/track Cart Viewed, .* rejected: userId is missing/).waitFor();
  await live.rows
    .filter({ hasText: "Cart Viewed" })
    .filter({ hasText: "userId is missing" })
    .waitFor();
  await inspector.call("clock.advance", { byMs: 20_000 });
  await live.row(/waiting, last timeout, 2 attempts/).waitFor();
});
