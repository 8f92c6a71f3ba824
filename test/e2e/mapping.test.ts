import { createHmac } from "node:crypto";
import { describe, expect } from "vitest";
import { signatureOf } from "./pages/attempt.ts";
import { destinationsPage } from "./pages/destinations.ts";
import { goInto } from "./support/inspector-place.ts";
import { seriousFindings } from "./support/axe.ts";
import { test } from "./support/inspector-test.ts";

describe("a destination with mappings", () => {
  test("is set up with its preview beside it, and sends what the preview shows", async ({
    open,
    inspector,
  }) => {
    await inspector.call("sources.create", { name: "Shop web", writeKey: inspector.writeKey });
    const order = (total: number) => ({
      userId: "u1",
      event: "Order Completed",
      properties: { total },
    });
    for (const each of [order(5), order(184.5), { userId: "u1", event: "Cart Viewed" }])
      await inspector.send([each]);
    const { page } = await open("/destinations");
    const destinations = destinationsPage(page);
    await destinations.setUpFirst.click();
    await page.getByRole("radio", { name: "Webhooks (Actions)" }).click();
    await destinations.name.fill("Ledger");
    await destinations.secret.fill("s3cret");

    const mapping = page.getByRole("group", { name: "Mapping 1", exact: false }).first();
    await page.getByRole("textbox", { name: "Trigger" }).fill('event = "Order');
    await mapping.getByText(/character 9/).waitFor();
    await page.getByRole("textbox", { name: "Trigger" }).fill('event = "Order Completed"');
    await mapping.getByText("2 of the last 3 messages").waitFor();
    await page.getByRole("button", { name: "Choose a test endpoint" }).click();
    await destinations.menuItem("New test endpoint that always answers 200").click();
    await page.getByRole("button", { name: "Add a field" }).click();
    await page.getByRole("textbox", { name: "Name of field 1" }).fill("total");
    await page.getByRole("textbox", { name: "Value of field 1" }).focus();
    const asked = inspector.hold("mappings.preview");
    asked.release();
    // Each letter is drawn, and no timer ends in between.
    await page.evaluate(`(async () => {
      for (const letter of "$.properties.total") {
        document.execCommand("insertText", false, letter);
        for (let turn = 0; turn < 9; turn += 1) await null;
      }
    })()`);

    const preview = page.getByRole("region", { name: "Preview" });
    await preview.getByText('{"total":184.5}', { exact: true }).waitFor();
    const inputs = asked.inputs.map((input) => JSON.stringify(input));
    expect(inputs.filter((input) => /\$\.p(?!roperties\.total)/.test(input))).toEqual([]);
    await preview.getByText("Signed: the whole body").waitFor();
    await preview.getByRole("button", { name: "Next message" }).click();
    await preview.getByText('{"total":5}', { exact: true }).waitFor();
    await page.getByRole("switch", { name: "Collect messages into one request" }).check();
    await preview.getByText("Signed: the first element").waitFor();
    await preview.getByText("Not signed: anyone can change this").waitFor();
    await preview.getByText("whole body, not sent").waitFor();
    expect(await seriousFindings(page)).toEqual([]);
    await page.getByRole("switch", { name: "Collect messages into one request" }).uncheck();
    await preview.getByText("Signed: the whole body").waitFor();

    await destinations.make.click();
    await destinations.editor("Ledger").waitFor();
    await destinations.entry("Ledger").getByText("Mapping 1").waitFor();
    await inspector.send([order(7)]);
    await preview.getByText('{"total":7}', { exact: true }).waitFor();
    await preview.getByRole("link", { name: "track Order Completed" }).click();
    await page.getByRole("tab", { name: "Payload" }).waitFor();
    const { items } = await inspector.call("deliveries.list", {});
    expect(items).toHaveLength(1);
    const delivery = await inspector.call("deliveries.get", { id: items[0]!.id });
    expect(delivery.payload).toBe('{"total":7}');

    // A secret of digits is hidden in numbers too, which leaves no JSON.
    const [ledger] = (await inspector.call("destinations.list", {})).items;
    const { name, trigger, url } = ledger!.mappings[0]!;
    const data = { total: { "@path": "$.properties.total" }, u: { "@path": "$.properties.url" } };
    await inspector.call("destinations.update", {
      id: ledger!.id,
      mappings: [{ name, trigger, url, data }],
    });
    const properties = { total: 123456, url: "https://x.test/?token=123456" };
    await inspector.send([{ userId: "u1", event: "Order Completed", properties }]);
    await page.evaluate(`location.hash = "#/destinations/${ledger!.id}"`);
    const results = page.locator("code[title='For the message that is shown']");
    await expect.poll(() => results.allTextContents()).toEqual(["123456", expect.any(String)]);
    await page.keyboard.press("p");
    await page.getByText("secrets hidden").waitFor();
    await expect
      .poll(() => results.allTextContents())
      .toEqual([
        expect.stringMatching(/^••••••\d+•$/),
        expect.stringMatching(/^"https:.*=••••••\d+•"$/),
      ]);
    await page.keyboard.press("Escape");
  });

  test("shows a batch with its messages, and only the webhook of its mapping", async ({
    open,
    inspector,
  }) => {
    const { source, endpoint } = await inspector.shop({ steps: [{ do: "answer", status: 503 }] });
    const ledger = await inspector.call("destinations.create", {
      kind: "webhooks-actions",
      name: "Ledger",
      sourceIds: [source.id],
      sharedSecret: "s3cret",
      mappings: [
        { name: "Orders", url: endpoint.url, batch: { enabled: true, size: 3 } },
        { name: "People", trigger: 'type = "identify"', url: "http://people.test" },
      ],
    });
    const event = { userId: "u1", event: "Order Completed" };
    await inspector.call("clock.set", { mode: "paused" });
    await inspector.send([event, event, event]);
    const { items } = await inspector.call("messages.list", {});
    const list = () => inspector.call("deliveries.list", { destinationId: ledger.id });
    await expect.poll(async () => (await list()).items[0]?.state).toBe("waiting");
    await expect.poll(async () => (await list()).items[0]?.rounds).toBe(1);
    const { id } = (await list()).items[0]!;
    const { page } = await open(`/live/${items[0]!.id}?delivery=${id}`);
    await page.getByText("in a batch of 3 messages").waitFor();
    await page.getByText("1 attempt, last 503").waitFor();
    await expect.poll(() => page.getByText("people.test").count()).toBe(0);
    await page.getByRole("list", { name: "Deliveries" }).getByText("Ledger, Orders").waitFor();
    const { attempts } = await inspector.call("deliveries.get", { id });
    await goInto(page, inspector.address, `/live/${items[0]!.id}/attempts/${attempts[0]!.id}`);
    await page.getByText("round 1, mapping Orders of Ledger, a batch of 3 messages").waitFor();
    const { right, digest, found } = signatureOf(page);
    await right.waitFor();
    await page.getByText(/^the first element: \d+ of [\d,]+ bytes$/).waitFor();
    const batch = attempts[0]!.request.body as string;
    await digest.fill(createHmac("sha1", "s3cret").update(batch).digest("hex"));
    await found.filter({ hasText: "computes the digest over the whole body" }).waitFor();
  });
});
