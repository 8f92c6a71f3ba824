import { describe, expect } from "vitest";
import { framePage } from "./pages/frame.ts";
import { livePage } from "./pages/live.ts";
import { sourcesPage } from "./pages/sources.ts";
import { test } from "./support/inspector-test.ts";

describe("an unknown write key", () => {
  test("is counted beside Sources, listed, and adopted as a source with the requests that were kept", async ({
    open,
    inspector,
  }) => {
    const { page } = await open();
    const frame = framePage(page);
    const sources = sourcesPage(page);
    expect(await inspector.send([{ userId: "u_1", event: "Order Completed" }], "wk_nobody")).toBe(
      401,
    );
    expect(await inspector.send([{ userId: "u_2", event: "Cart Viewed" }], "wk_nobody")).toBe(401);
    await frame.viewLink("Sources").filter({ hasText: "1" }).click();
    await page
      .getByRole("link", { name: /Unknown write keys|Adopt or forget/ })
      .first()
      .click();
    await sources.unknownKey("wk_nobody").filter({ hasText: "2 requests stored" }).waitFor();
    await sources.nameFor("wk_nobody").fill("Found");
    await sources.nameFor("wk_nobody").press("Enter");
    await sources.editor("Found").waitFor();
    await expect.poll(() => sources.writeKey.inputValue()).toBe("wk_nobody");
    await frame.viewLink("Live").click();
    const live = livePage(page);
    await live.row(/Order Completed of u_1, from Found/).waitFor();
    await live.row(/Cart Viewed of u_2, from Found/).waitFor();
    await expect.poll(() => frame.viewLink("Sources").textContent()).toBe("Sources");
  });
});
