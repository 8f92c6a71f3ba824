/**
 * Check a receiver: start it, see the first finding with its proof, walk the findings, stop,
 * export, run a failure as a scenario.
 */

import { readFile } from "node:fs/promises";
import type { Page } from "playwright-core";
import { describe, expect } from "vitest";
import type { InputOf } from "../../src/contract/contract.ts";
import { startReceiver } from "../receivers/receivers.ts";
import { receiversPage } from "./pages/receivers.ts";
import { scenariosPage } from "./pages/scenarios.ts";
import { seriousFindings } from "./support/axe.ts";
import { test as base } from "./support/inspector-test.ts";
import { layoutFindings } from "./support/layout.ts";
import type { RunningInspector } from "./support/running-inspector.ts";

type WrongReceiver = { url: string; effectsUrl: string; secret: string };

const test = base.extend<{ receiver: WrongReceiver }>({
  // oxlint-disable-next-line no-empty-pattern -- vitest reads from it that nothing is needed
  receiver: async ({}, use) => {
    const running = await startReceiver({
      language: "node",
      bug: "marks-after-answer",
    } as Parameters<typeof startReceiver>[0]);
    await use(running);
    await running.stop();
  },
});

/** Over the API, until it has ended. */
async function checked(
  inspector: RunningInspector,
  input: InputOf<"checks.start">,
): Promise<string> {
  const { id } = await inspector.call("checks.start", input);
  await expect.poll(async () => (await inspector.call("checks.get", { id })).state).toBe("done");
  return id;
}

/** In each of its forms: a file that says which check has failed. */
async function expectExports(page: Page): Promise<void> {
  const receivers = receiversPage(page);
  const exported = async (press: () => Promise<void>): Promise<[string, string]> => {
    const [download] = await Promise.all([page.waitForEvent("download"), press()]);
    return [download.suggestedFilename(), await readFile(await download.path(), "utf8")];
  };
  const [html, document] = await exported(() => receivers.exportHtml.click());
  expect([html, document]).toEqual([
    "check.html",
    expect.stringContaining("retry-after-lost-answer"),
  ]);
  await receivers.exportMore.click();
  const [json, report] = await exported(() => receivers.menuItem(/^JSON/).click());
  expect([json, (JSON.parse(report) as { verdict: string }).verdict]).toEqual([
    "check.json",
    "fail",
  ]);
  await receivers.exportMore.click();
  const [junit, xml] = await exported(() => receivers.menuItem(/^JUnit/).click());
  expect([junit, xml]).toEqual([
    "check.xml",
    expect.stringContaining('<testcase name="retry-after-lost-answer"'),
  ]);
}

/** Two that find the bug of the receiver, and one that does not. */
const only = ["duplicate", "retry-after-lost-answer", "wrong-content-type"];

describe("a check of a receiver", () => {
  test("starts from the form, opens the first failed check once, and stops with Escape", async ({
    open,
    inspector,
    receiver,
  }) => {
    const { page, expect: isExpected } = await open("/receivers");
    const receivers = receiversPage(page);
    await page.getByRole("heading", { name: "Is your receiver right?" }).waitFor();
    await receivers.url.fill(receiver.url);
    await receivers.secret.fill("another secret");
    await receivers.effects.fill(receiver.effectsUrl);
    await receivers.seed.fill("7");
    expect(await page.evaluate("JSON.stringify({ ...sessionStorage })")).not.toContain(
      "another secret",
    );
    await receivers.message.fill("{event:");
    await receivers.seed.press("Enter");
    await page.getByText("The message must be JSON, such as").waitFor();
    isExpected(/status of 400/);
    await receivers.message.fill('{"event": ""}');
    await receivers.seed.press("Enter");
    await page.getByText("The message is a track, so it must have an event.").waitFor();
    await receivers.message.fill('{"event": "Signed Up"}');
    await receivers.seed.press("Enter");
    // Signed with the wrong secret, it accepts nothing.
    await receivers.current.filter({ hasText: "answers" }).waitFor();
    await receivers.sentence.filter({ hasText: "refused a valid message with 401" }).waitFor();
    await receivers.start.waitFor();
    await expect.poll(() => receivers.status.textContent()).toMatch(/^34 checks/);
    const [first] = await receivers.requests.allTextContents();
    expect(first).toContain("Signed Up");

    // Slow enough that the check is still running when it is stopped.
    const slow = await inspector.call("endpoints.create", {
      name: "slow",
      steps: [{ do: "answer", status: 200, delayMs: 1000 }],
    });
    await receivers.url.fill(slow.url);
    await receivers.secret.fill(receiver.secret);
    await receivers.start.click();
    await receivers.stop.waitFor();
    await page.getByRole("heading", { name: "Check a receiver" }).click();
    await page.keyboard.press("Escape");
    await receivers.start.waitFor();
    await expect.poll(() => receivers.status.textContent()).toMatch(/^stopped, \d+ of 34/);
  });

  test("shows each failure with its proof, is walked with keys and exported, and a failure is opened as a scenario", async ({
    open,
    inspector,
    receiver,
  }) => {
    const id = await checked(inspector, {
      url: receiver.url,
      secret: receiver.secret,
      effects: { url: receiver.effectsUrl },
      only,
    });
    const { page } = await open(`/receivers/${id}`);
    const receivers = receiversPage(page);
    await receivers.current.filter({ hasText: "retry-after-lost-answer" }).waitFor();
    await receivers.sentence.filter({ hasText: "took effect twice" }).waitFor();
    await expect
      .poll(() => receivers.sequence.getAttribute("aria-label"))
      .toMatch(/answer lost.*200.*took effect twice/);
    await expect.poll(() => receivers.requests.count()).toBeGreaterThan(1);
    await expect
      .poll(() => receivers.effectsBox.textContent())
      .toMatch(/2 with the token, 1 expected.*once.*twice!/);
    await receivers.fix.getByRole("radio", { name: "Go", exact: true }).click();
    await expect.poll(() => receivers.fix.locator("pre").textContent()).toContain("tx.Exec");
    expect(await page.content()).not.toContain(receiver.secret);
    expect([...(await seriousFindings(page)), ...(await layoutFindings(page))]).toEqual([]);
    await page.setViewportSize({ width: 1100, height: 700 });
    expect([...(await seriousFindings(page)), ...(await layoutFindings(page))]).toEqual([]);

    const { checks } = await inspector.call("checks.get", { id });
    const findings = checks
      .filter(({ state }) => state === "fail" || state === "warn")
      .map((check) => check.id);
    expect(findings).toContain("wrong-content-type");
    for (const finding of [
      ...findings.slice(findings.indexOf("retry-after-lost-answer") + 1),
      ...findings,
    ]) {
      await page.keyboard.press("]");
      await receivers.current.filter({ hasText: finding }).waitFor();
    }
    await page.keyboard.press("[");
    await receivers.current.filter({ hasText: findings.at(-2) ?? "" }).waitFor();

    await page.evaluate(`location.hash = "#/receivers/${id}/retry-after-lost-answer"`);
    await receivers.current.filter({ hasText: "retry-after-lost-answer" }).waitFor();
    await receivers.sentence.filter({ hasText: "took effect twice" }).waitFor();
    await expectExports(page);
    await page.keyboard.press("r");
    await scenariosPage(page).title.filter({ hasText: "retry-after-lost-answer" }).waitFor();
    expect(await scenariosPage(page).text()).toContain("hangUp: when-sent");
  });

  test("starts at a webhook, with the shared secret of its destination", async ({
    open,
    inspector,
  }) => {
    // Slow enough that the check is still running when it is stopped.
    const { destination } = await inspector.shop({
      steps: [{ do: "answer", status: 200, delayMs: 1000 }],
    });
    const url = destination.webhooks[0]?.url ?? "";
    await inspector.call("destinations.update", {
      id: destination.id,
      webhooks: [{ url, headers: { "X-Team": "billing" } }],
    });
    const { page } = await open(`/destinations/${destination.id}`);
    const receivers = receiversPage(page);
    await page.getByRole("button", { name: "More for webhook 1" }).click();
    await receivers.menuItem("Check this receiver").click();
    await receivers.secretOf("Billing").waitFor();
    // A reload keeps what is changed in the form from here on.
    await page.waitForURL(/#\/receivers$/);
    await expect.poll(() => receivers.url.inputValue()).toBe(url);
    await page.getByText("with 1 header of Billing").waitFor();
    expect([...(await seriousFindings(page)), ...(await layoutFindings(page))]).toEqual([]);
    await page.getByRole("button", { name: "Send without these headers" }).click();
    await page.getByText("with 1 header of Billing").waitFor({ state: "detached" });
    await receivers.start.click();
    // The endpoint accepts whatever comes.
    await receivers.current.filter({ hasText: "signature-" }).waitFor();
    await receivers.stop.click();
    await receivers.start.waitFor();
  });
});
