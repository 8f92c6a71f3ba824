import { describe, expect } from "vitest";
import { framePage } from "./pages/frame.ts";
import { sourcesPage } from "./pages/sources.ts";
import { welcomePage } from "./pages/welcome.ts";
import { test } from "./support/inspector-test.ts";

describe("nothing arrives", () => {
  test("leads from the first page to what was refused, with the line to change, and to a source for the key", async ({
    open,
    inspector,
  }) => {
    const { page } = await open();
    const sources = sourcesPage(page);
    await welcomePage(page).nothingArrives.click();
    await sources.refusedRequests.getByText("No request was refused").waitFor();

    const send = (path: string, init: RequestInit): Promise<Response> =>
      fetch(`${inspector.ingestUrl}${path}`, init);
    const headers = { "User-Agent": "analytics-python/2.3.4" };
    await send("/t?writeKey=secret", { method: "POST", headers, body: "{}" });
    await send("/t", { method: "POST", headers, body: "{}" });
    const wrongPath = sources.refused("POST /t");
    await wrongPath.filter({ hasText: "2 times" }).waitFor();
    await expect
      .poll(() => wrongPath.getAttribute("aria-label"))
      .toBe("POST /t from segment-analytics-python 2.3.4 at 127.0.0.1: unknown_path");
    await expect
      .poll(() => wrongPath.getByLabel("The line to change").textContent())
      .toBe(`analytics.host = "${inspector.ingestUrl}"`);
    await framePage(page).viewLink("Sources").filter({ hasText: "1" }).waitFor();

    inspector.answer("refused.list", async (answered) => {
      const { status, body } = await answered();
      return { status, body: { ...(body as object), dropped: 1 } };
    });
    await send("/v1/projects/wk_page/settings", {});
    await sources
      .refused("GET /v1/projects/wk_page/settings")
      .getByRole("button", { name: "Create a source with this key" })
      .click();
    await sources.editor("Source of wk_page").waitFor();
    await expect.poll(() => sources.writeKey.inputValue()).toBe("wk_page");

    await sources.list.getByRole("link", { name: /Refused requests/ }).click();
    await sources.refusedRequests.getByText("1 older one was removed.").waitFor();
    await sources.refusedRequests.getByRole("button", { name: "Clear" }).click();
    await sources.refusedRequests.getByText("No request was refused").waitFor();
    await expect.poll(() => framePage(page).viewLink("Sources").textContent()).toBe("Sources");
  });
  test("shows the program of the library that was recognised, also one that is not in the list", async ({
    open,
    inspector,
  }) => {
    const { page } = await open();
    const sources = sourcesPage(page);
    await framePage(page).viewLink("Sources").click();
    await sources.snippet("cURL").waitFor();
    await fetch(`${inspector.ingestUrl}/t`, {
      method: "POST",
      headers: { "User-Agent": "analytics-java/3.5.4" },
      body: "{}",
    });
    await sources.snippet("Java").waitFor();
    await page.getByRole("radio", { name: "Go" }).click();
    await sources.snippet("Go").waitFor();
  });
  test("keeps the library that was chosen when the first source comes", async ({
    open,
    inspector,
  }) => {
    const first = inspector.hold("workspaces.open");
    const { page } = await open();
    const sources = sourcesPage(page);
    await expect.poll(() => first.inputs.length).toBe(1);
    await framePage(page).viewLink("Sources").click();
    await page.getByRole("radio", { name: "Go" }).click();
    await sources.snippet("Go").waitFor();
    first.release();
    await sources.editor("First source").waitFor();
    await expect.poll(() => sources.snippet("Go").isVisible()).toBe(true);
  });
});
