import { describe, expect } from "vitest";
import { destinationsPage } from "./pages/destinations.ts";
import { seriousFindings } from "./support/axe.ts";
import { test } from "./support/inspector-test.ts";

describe("one destination", () => {
  test("gets a test event, and shows the request and the response", async ({ open, inspector }) => {
    await inspector.shop();
    const { page } = await open("/destinations");
    const destinations = destinationsPage(page);
    await destinations.entry("Billing").click();
    await destinations.show("test event").click();
    await destinations.test.event.fill("{");
    await destinations.test.send.click();
    await page.getByText("The event is not valid JSON.").waitFor();
    await destinations.test.event.fill('{"type":"track","userId":"u_7","event":"Order Completed"}');
    await destinations.test.send.click();
    const { result } = destinations.test;
    const request = result.getByLabel("Request, exact bytes").first();
    await request.waitFor();
    expect(await request.textContent()).toContain("X-Signature");
    expect(await request.textContent()).toContain("u_7");
    await result.getByLabel("Response, exact bytes").first().waitFor();
    expect(await seriousFindings(page)).toEqual([]);
  });
});
