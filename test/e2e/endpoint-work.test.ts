import { describe, expect } from "vitest";
import { destinationsPage } from "./pages/destinations.ts";
import { endpointsPage } from "./pages/endpoints.ts";
import { test } from "./support/inspector-test.ts";

describe("a test endpoint", () => {
  test("has a path that follows its name, becomes a destination, and counts for each message", async ({
    open,
    inspector,
  }) => {
    await inspector.call("sources.create", { name: "Shop web", writeKey: inspector.writeKey });
    await inspector.call("clock.set", { mode: "paused" });
    const { page } = await open("/endpoints");
    const endpoints = endpointsPage(page);
    await endpoints.makeSteady.click();
    await endpoints.name.fill("Flaky billing");
    await endpoints.name.press("Enter");
    await expect.poll(() => endpoints.address.textContent()).toMatch(/\/flaky-billing$/);
    // After a reload it is no longer what was just created.
    await page.waitForURL(/#\/endpoints\/\w+$/);
    await endpoints.program.fill("503 → 200");
    await endpoints.program.press("Enter");
    await endpoints.step(2).waitFor();
    await endpoints.counts("each message").click();
    await expect
      .poll(async () => (await inspector.call("endpoints.list", {})).items[0])
      .toMatchObject({ perMessage: true, steps: [{ status: 503 }, {}] });
    const served = page.getByRole("textbox", { name: "Requests that step 1 serves" });
    await expect.poll(() => served.inputValue()).toBe("×1");

    await endpoints.newDestination.click();
    const destinations = destinationsPage(page);
    await destinations.fresh.waitFor();
    await expect.poll(() => destinations.name.inputValue()).toBe("Flaky billing");
    await destinations.name.fill("Typed before the reload");
    await destinations.secret.fill("typed-s3cret");
    expect(await page.evaluate("JSON.stringify({ ...sessionStorage })")).not.toContain("s3cret");
    await page.reload();
    await expect.poll(() => destinations.name.inputValue()).toBe("Typed before the reload");
    await page.getByText("The secret is not kept over a reload").waitFor();
    await destinations.make.click();
    await expect
      .poll(async () => (await inspector.call("destinations.list", {})).items[0]?.webhooks[0]?.url)
      .toMatch(/\/flaky-billing$/);

    await inspector.send([
      { userId: "u_1", event: "A" },
      { userId: "u_2", event: "B" },
    ]);
    await inspector.call("pipeline.settle", {});
    await inspector.call("clock.advance", { to: "idle" });
    const { items } = await inspector.call("messages.list", {});
    expect(items.map(({ attempts }) => attempts)).toEqual([2, 2]);
  });

  test("becomes a destination of the only source with the usual retries, also before the page knows them", async ({
    open,
    inspector,
  }) => {
    const source = await inspector.call("sources.create", { name: "Shop web" });
    await inspector.call("settings.update", { retryProfile: "actions" });
    const { id } = await inspector.call("endpoints.create", { name: "Billing", steps: [] });
    const reading = inspector.hold("sources.list");
    const { page } = await open(`/endpoints/${id}`);
    await endpointsPage(page).newDestination.click();
    await expect.poll(() => reading.inputs).not.toEqual([]);
    reading.release();
    const { fresh, make } = destinationsPage(page);
    await fresh.waitFor();
    await make.click();
    await expect
      .poll(async () => (await inspector.call("destinations.list", {})).items)
      .toMatchObject([{ name: "Billing", sourceIds: [source.id], retryProfile: "actions" }]);
  });

  test("shows what others change in its program after an edit of its own", async ({
    open,
    inspector,
  }) => {
    const { endpoint } = await inspector.shop({
      steps: [{ do: "answer", status: 503, times: 2 }, { do: "answer" }],
    });
    const { id } = endpoint;
    const { page } = await open(`/endpoints/${id}`);
    const endpoints = endpointsPage(page);
    await endpoints.more(1).click();
    await expect
      .poll(async () => (await inspector.call("endpoints.get", { id })).steps)
      .toMatchObject([{ times: 3 }, {}]);
    await inspector.call("endpoints.update", { id, steps: [{ do: "hang" }, { do: "reset" }] });
    await expect.poll(() => endpoints.program.inputValue()).toBe("hang → reset");
  });

  test("keeps the received request open that is read, and opens no other in its place", async ({
    open,
    inspector,
  }) => {
    const { endpoint } = await inspector.shop();
    const { id, url } = endpoint;
    const { page } = await open(`/endpoints/${id}`);
    const { received, receivedBytes } = endpointsPage(page);
    await fetch(url, { method: "POST", body: "the first" });
    await received.first().click();
    for (let n = 1; n <= 30; n += 1) await fetch(url, { method: "POST", body: `after ${n}` });
    await page.getByText("This request is no longer among the newest 30.").waitFor();
    await receivedBytes.getByText("the first").waitFor();
    await page.reload();
    await page.getByText("The request of this address is not among the newest 30.").waitFor();
    await expect.poll(() => received.count()).toBe(30);
    await expect.poll(() => received.and(page.locator("[aria-selected=true]")).count()).toBe(0);
    await expect.poll(() => receivedBytes.count()).toBe(0);
    await page.keyboard.press("j");
    await receivedBytes.getByText("after 30").waitFor();
    const [first] = (await inspector.call("endpoints.requests", { id, limit: 31 })).items.slice(-1);
    await page.evaluate(`location.hash = "#/endpoints/${id}/${first?.id}"`);
    await page.getByRole("button", { name: "Show older" }).click();
    await receivedBytes.getByText("the first").waitFor();
    await page.getByRole("button", { name: "Clear", exact: true }).click();
    const dialog = page.getByRole("dialog", { name: "Delete 31 received requests?" });
    await dialog.getByRole("button", { name: "Delete" }).click();
    await page.getByText("Listening. Requests appear here").waitFor();
    await page.waitForURL(/#\/endpoints\/\w+$/);
    await fetch(url, { method: "POST", body: "the next" });
    await receivedBytes.getByText("the next").waitFor();
    await page.getByRole("button", { name: "Clear", exact: true }).click();
    await page.getByRole("dialog", { name: "Delete 1 received request?" }).waitFor();
    inspector.answer("endpoints.requests", async (answered) => {
      const { status, body } = await answered();
      return { status, body: { ...(body as object), dropped: 1 } };
    });
    await page.reload();
    await page.getByText("1 older request dropped").waitFor();
  });

  test("draws a random step as its share, and has its presets in groups", async ({
    open,
    inspector,
  }) => {
    await inspector.call("endpoints.create", {
      name: "sometimes",
      steps: [{ do: "answer", status: 503, chance: 0.3 }, { do: "answer" }],
    });
    const { page } = await open("/endpoints");
    const endpoints = endpointsPage(page);
    await endpoints.bead(/200 70 %.*503 30 %/).waitFor();
    await endpoints.bead(/delivered.*round 1, 70 % of deliveries/).waitFor();
    const failures = page.getByRole("textbox", { name: "Random failures, per cent" });
    await expect.poll(() => failures.inputValue()).toBe("30");
    await failures.fill("0");
    await failures.press("Enter");
    await expect.poll(() => endpoints.program.inputValue()).toBe("200");
    await expect.poll(() => endpoints.presets("certificates").count()).toBe(4);
    await endpoints.presets("slow").filter({ hasText: "times out" }).click();
    await expect.poll(() => endpoints.does(1).inputValue()).toBe("hang");
  });

  test("is created from a preset while another one is, and twice from none of them", async ({
    open,
    inspector,
  }) => {
    const creating = inspector.hold("endpoints.create");
    const { page } = await open("/endpoints");
    const endpoints = endpointsPage(page);
    const preset = (place: number) => endpoints.presets("slow").nth(place);
    await preset(0).click();
    await expect.poll(() => creating.inputs.length).toBe(1);
    await preset(0).click();
    await preset(1).click();
    await expect.poll(() => creating.inputs.length).toBe(2);
    creating.release();
    await expect
      .poll(async () => (await inspector.call("endpoints.list", {})).items.length)
      .toBe(2);
  });
});
