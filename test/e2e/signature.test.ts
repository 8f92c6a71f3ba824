import { createHmac } from "node:crypto";
import type { Page } from "playwright-core";
import { describe, expect } from "vitest";
import { attemptPage, signatureOf } from "./pages/attempt.ts";
import { detailsPage } from "./pages/details.ts";
import { livePage } from "./pages/live.ts";
import { test, type OpenInspector } from "./support/inspector-test.ts";
import type { RunningInspector } from "./support/running-inspector.ts";

/**
 * Opens the attempt of a message whose bytes are easily respelled: an umlaut, a `<`, a fraction.
 */
async function openAttempt(
  inspector: RunningInspector,
  open: OpenInspector,
): Promise<{ page: Page; body: string }> {
  const { endpoint } = await inspector.shop();
  await inspector.send([{ userId: "u_1", event: "Käufe <b>", properties: { total: 184.5 } }]);
  await inspector.call("pipeline.settle", {});
  const { items } = await inspector.call("endpoints.requests", { id: endpoint.id });
  const { page } = await open();
  const details = detailsPage(page);
  await livePage(page).row(/Käufe/).click();
  await details.mark(/^Round 1: success/).click();
  await attemptPage(page).outcome.filter({ hasText: "success" }).waitFor();
  return { page, body: items[0]?.body as string };
}

const hmac = (
  text: string,
  secret = "s3cret",
  algorithm = "sha1",
  encoding: "hex" | "base64" = "hex",
): string => createHmac(algorithm, secret).update(text).digest(encoding);

describe("a signature", () => {
  test("is explained step by step, with the secret hidden until it is asked for", async ({
    open,
    inspector,
  }) => {
    const { page, body } = await openAttempt(inspector, open);
    const signature = signatureOf(page);
    await signature.right.waitFor();
    await page.getByText(hmac(body)).first().waitFor();
    await page.getByText((hmac(body).match(/../g) ?? []).join(" ")).waitFor();
    await page.getByText(`${Buffer.byteLength(body)} bytes, as sent`).waitFor();
    await expect.poll(() => page.locator("body").innerText()).not.toContain("s3cret");
    await signature.showSecret.click();
    await page.getByText("s3cret", { exact: true }).waitFor();
  });

  test("that a receiver computed otherwise is told why, with the first differing byte", async ({
    open,
    inspector,
  }) => {
    const { page, body } = await openAttempt(inspector, open);
    const { digest, found, firstDifference, causes } = signatureOf(page);

    await digest.fill(hmac(body));
    await found.filter({ hasText: "There is no difference" }).waitFor();

    const escaped = body.replaceAll("ä", "\\u00e4");
    await digest.fill(hmac(escaped));
    await causes.filter({ hasText: "escaped non-ASCII" }).waitFor();
    const at = Buffer.from(body).indexOf("ä");
    await firstDifference.getByText(`byte ${at}`).waitFor();
    await found.filter({ hasText: `First differing byte: ${at}` }).waitFor();

    for (const [given, cause] of [
      [hmac(`${body}\n`), "trailing newline"],
      [hmac(body, "s3cret "), "wrong secret"],
      [hmac(body, "s3cret", "sha256"), "SHA-256"],
      [hmac(body, "s3cret", "sha1", "base64"), "base64"],
      [hmac(body).toUpperCase(), "upper case"],
    ] as const) {
      await digest.fill(given);
      await causes.filter({ hasText: cause }).waitFor();
    }
    await digest.fill("0".repeat(40));
    await found.filter({ hasText: "Give the receiver's body to be sure" }).waitFor();
  });

  test("is valid while secrets are hidden too, and nothing of the body that is hidden is shown", async ({
    open,
    inspector,
  }) => {
    const { endpoint } = await inspector.shop();
    await inspector.send([{ userId: "ada@example.test", event: "Signed Up" }]);
    await inspector.call("pipeline.settle", {});
    const { items } = await inspector.call("endpoints.requests", { id: endpoint.id });
    const body = items[0]?.body as string;
    const { page } = await open();
    await livePage(page)
      .row(/Signed Up/)
      .click();
    await detailsPage(page)
      .mark(/^Round 1: success/)
      .click();
    await attemptPage(page).outcome.filter({ hasText: "success" }).waitFor();
    await page.keyboard.press("p");
    await page.getByText("secrets hidden").waitFor();
    const signature = signatureOf(page);
    await signature.right.waitFor();
    await page.getByText(`${Buffer.byteLength(body)} bytes, as sent`).waitFor();
    await signature.digest.fill(hmac(body));
    await signature.found.filter({ hasText: "There is no difference" }).waitFor();
    await signature.by("body").click();
    await signature.body.fill(JSON.stringify(JSON.parse(body), null, 1));
    await signature.causes.filter({ hasText: "spaces" }).waitFor();
    await expect.poll(() => signature.firstDifference.count()).toBe(0);
    await expect.poll(() => page.locator("body").innerText()).not.toContain("ada@example.test");
  });

  test("is compared with a receiver's own body as well", async ({ open, inspector }) => {
    const { page, body } = await openAttempt(inspector, open);
    const { by, body: field, found, firstDifference, causes } = signatureOf(page);
    await by("body").click();
    await field.fill(JSON.stringify(JSON.parse(body), null, 1));
    await causes.filter({ hasText: "spaces" }).waitFor();
    await firstDifference.waitFor();
    await field.fill(body);
    await found.filter({ hasText: "There is no difference" }).waitFor();
  });
});
