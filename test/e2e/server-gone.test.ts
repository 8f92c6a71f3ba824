import { describe, expect } from "vitest";
import { composerPage } from "./pages/composer.ts";
import { framePage } from "./pages/frame.ts";
import { livePage } from "./pages/live.ts";
import { test } from "./support/inspector-test.ts";

describe("when the program is gone", () => {
  test("the page keeps what it has and says so, and goes on by itself when it is back", async ({ open, inspector }) => {
    await inspector.shop();
    await inspector.send([{ userId: "u_1", event: "Before" }]);
    const guarded = await open();
    const { page } = guarded;
    const frame = framePage(page);
    const live = livePage(page);
    const composer = composerPage(page);
    await live.row(/Before/).waitFor();
    // The browser logs each connection that is refused or cut.
    guarded.expect(/net::ERR_/);

    await inspector.stopServing();
    await frame.lost.waitFor();
    await live.row(/Before/).waitFor();
    await page.keyboard.press("n");
    await composer.send.click();
    await composer.dialog.getByRole("alert").filter({ hasText: "Hookyard does not answer" }).waitFor();
    await page.keyboard.press("Escape");
    await inspector.send([{ userId: "u_2", event: "Meanwhile" }]);

    await inspector.serveAgain();
    await live.row(/Meanwhile/).waitFor();
    await expect.poll(() => frame.lost.count()).toBe(0);
    await inspector.send([{ userId: "u_3", event: "After" }]);
    await live.row(/After/).waitFor();
  });
});
