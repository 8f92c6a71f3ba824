import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { gunzipSync, gzipSync } from "node:zlib";
import { describe, expect, onTestFinished } from "vitest";
import { isProblem } from "../../src/domain/problem.ts";
import { root } from "../../src/launch/build.ts";
import { collectShare, shareBytes } from "../../src/share/share-file.ts";
import { flowPage } from "./pages/flow.ts";
import { framePage } from "./pages/frame.ts";
import { livePage } from "./pages/live.ts";
import { palettePage } from "./pages/palette.ts";
import { sourcesPage } from "./pages/sources.ts";
import { seriousFindings } from "./support/axe.ts";
import { test } from "./support/inspector-test.ts";
import type { RunningInspector } from "./support/running-inspector.ts";

const pages = join(root, "out", "renderer");
const hostile = `</script><script>window.attacked = 1</script><img src=x onerror="window.attacked = 2">`;

async function shareOf({ app }: RunningInspector): Promise<string[]> {
  const lines = await collectShare({
    ...app,
    version: "0.0.0",
    savedAt: "2026-11-22T10:00:00.000Z",
    secrets: false,
    redact: [],
    filter: "",
  });
  if (isProblem(lines)) throw new Error(lines.message);
  return lines;
}

async function failing(inspector: RunningInspector): Promise<void> {
  await inspector.shop({ steps: [{ do: "answer", status: 503, body: hostile }] });
  await inspector.send([
    { userId: "ada", event: "Order Completed", properties: { note: hostile } },
    { userId: hostile, event: hostile },
  ]);
  await inspector.call("pipeline.settle", {});
}

const directory = (): string => {
  const made = mkdtempSync(join(tmpdir(), "hookyard-e2e-share-"));
  onTestFinished(() => rmSync(made, { recursive: true, force: true }));
  return made;
};

describe("a share file", () => {
  test("is a page that shows everything from the disk, with no network and no foreign script", async ({
    browser,
    inspector,
  }) => {
    await failing(inspector);
    const file = join(directory(), "failure.html");
    writeFileSync(file, await shareBytes(await shareOf(inspector), "html", pages));
    const page = await browser.newPage();
    onTestFinished(() => page.close());
    const wrong: string[] = [];
    page.on("console", (line) => {
      if (line.type() === "error") wrong.push(line.text());
    });
    page.on("pageerror", (error) => wrong.push(error.message));
    page.on("request", (request) => {
      if (!/^(?:file|data|blob):/.test(request.url())) wrong.push(request.url());
    });
    await page.goto(pathToFileURL(file).href);
    await page.getByRole("note").getByText("A share file.").waitFor();
    await livePage(page).rows.nth(1).waitFor();
    await livePage(page).rows.filter({ hasText: "ada" }).click();
    const details = page.getByRole("region", { name: "Message details" });
    await details.getByText("503").first().waitFor();
    await page.keyboard.press("]");
    await page.getByRole("region", { name: "Attempt", exact: true }).waitFor();
    await framePage(page).viewLink("Flow").click();
    await flowPage(page).failing.waitFor();
    for (const view of ["Profiles", "Deletions"] as const) {
      await framePage(page).viewLink(view).click();
      await page.getByRole("region", { name: "Not in the share file" }).waitFor();
    }
    expect(await page.evaluate("window.attacked")).toBeUndefined();
    expect(wrong).toEqual([]);
  });

  test("is shown by a browser that refuses to keep anything for a page", async ({
    browser,
    inspector,
  }) => {
    await failing(inspector);
    const file = join(directory(), "failure.html");
    writeFileSync(file, await shareBytes(await shareOf(inspector), "html", pages));
    const page = await browser.newPage();
    onTestFinished(() => page.close());
    const wrong: string[] = [];
    page.on("pageerror", (error) => wrong.push(error.message));
    await page.addInitScript(`for (const name of ["localStorage", "sessionStorage"])
      Object.defineProperty(window, name, { get() { throw new DOMException("refused", "SecurityError"); } });`);
    await page.goto(pathToFileURL(file).href);
    await livePage(page).rows.filter({ hasText: "ada" }).click();
    await page.getByRole("region", { name: "Message details" }).getByText("503").first().waitFor();
    await framePage(page).viewLink("Flow").click();
    await flowPage(page).failing.waitFor();
    await page.keyboard.press("l");
    await flowPage(page).rows.first().waitFor();
    expect(wrong).toEqual([]);
  });

  test("of data that no Hookyard had open shows the sources, without an address to send to", async ({
    browser,
    inspector,
  }) => {
    await failing(inspector);
    const lines = await shareOf(inspector);
    const answers = JSON.parse(lines[1] ?? "") as { "about.get": object };
    Object.assign(answers["about.get"], { ingestUrl: "", endpointsUrl: "", endpointsTlsUrl: "" });
    const file = join(directory(), "closed.html");
    const bytes = await shareBytes(lines.with(1, JSON.stringify(answers)), "html", pages);
    writeFileSync(file, bytes);
    const page = await browser.newPage();
    onTestFinished(() => page.close());
    await page.goto(pathToFileURL(file).href);
    await livePage(page).rows.first().waitFor();
    await framePage(page).viewLink("Sources").click();
    await sourcesPage(page).writeKey.waitFor();
    expect(await page.getByText("This view failed").count()).toBe(0);
    expect(await page.getByText("Point a client here").count()).toBe(0);
  });

  test("is exported by the palette and the menus: which messages, as what, and what is left out", async ({
    open,
    inspector,
  }) => {
    await failing(inspector);
    await inspector.send([
      {
        userId: "ben",
        event: "Signed Up",
        properties: { email: "b@c.test", "last name": "Quill" },
      },
    ]);
    const { page } = await open(`/live?user=ada`);
    const dialog = page.getByRole("dialog", { name: "Share what happened" });
    const saved = async (): Promise<{ name: string; bytes: Buffer }> => {
      const [download] = await Promise.all([
        page.waitForEvent("download"),
        dialog.getByRole("button", { name: "Save the file" }).click(),
      ]);
      return { name: download.suggestedFilename(), bytes: readFileSync(await download.path()) };
    };
    await palettePage(page).run("Share what happened…");
    await dialog.getByText("1 message with attempts").waitFor();
    await expect
      .poll(() => dialog.getByRole("textbox", { name: /^Messages/ }).inputValue())
      .toBe("user:ada");
    const first = await saved();
    expect(first.name).toMatch(/^hookyard-.*\.html$/);
    expect(first.bytes.toString()).toContain("Content-Security-Policy");
    await dialog.getByText(/: 1 message, [\d,]+ bytes\. Secrets are left out/).waitFor();
    expect(await seriousFindings(page)).toEqual([]);

    await dialog.getByRole("textbox", { name: /^Messages/ }).fill("state:lost");
    await dialog.getByText("Unknown state “lost”").waitFor();
    await expect
      .poll(() => dialog.getByRole("button", { name: "Save the file" }).isDisabled())
      .toBe(true);
    await dialog.getByRole("textbox", { name: /^Messages/ }).fill("");
    await dialog.getByText("3 messages with attempts").waitFor();
    await dialog.getByRole("radio", { name: "a file for Hookyard" }).click();
    await dialog
      .getByRole("textbox", { name: /^Leave out/ })
      .fill('properties.email, properties["last name"] properties.note');
    const second = await saved();
    const lines = gunzipSync(second.bytes).toString();
    expect(lines.split("\n")).toHaveLength(2 + 2 * 3);
    expect(lines).not.toMatch(/b@c\.test|Quill/);
    expect(lines).not.toContain(inspector.writeKey);
    await inspector.call("clock.advance", { byMs: 20 * 60_000 });
    await dialog.getByRole("textbox", { name: /^Messages/ }).fill("last:1d");
    await dialog.getByText("3 messages with attempts").waitFor();
    await dialog.getByLabel("Received in").selectOption("the last 15 minutes");
    await dialog.getByText("0 messages with attempts").waitFor();
    await page.keyboard.press("Escape");

    await page.keyboard.press("Escape");
    await livePage(page).exportMenu.click();
    await livePage(page).menuItem("Matching messages as a share file…").click();
    await dialog.waitFor();
  });

  test("says how far it is while it is written, and can be cancelled", async ({
    open,
    inspector,
  }) => {
    await inspector.shop();
    await inspector.send(Array.from({ length: 12 }, () => ({ userId: "ada", event: "Paid" })));
    await inspector.call("pipeline.settle", {});
    const guarded = await open();
    guarded.expect(/409 \(Conflict\)/);
    const { page } = guarded;
    await palettePage(page).run("Share what happened…");
    const dialog = page.getByRole("dialog", { name: "Share what happened" });
    await dialog.getByText("12 messages with attempts").waitFor();
    const reading = inspector.hold("messages.get");
    await dialog.getByRole("button", { name: "Save the file" }).click();
    await dialog.getByRole("progressbar", { name: "Messages written" }).waitFor();
    await dialog.getByText("0 of 12 messages").waitFor();
    await expect.poll(() => reading.inputs).not.toEqual([]);
    const cancelled = page.waitForResponse((response) => response.request().method() === "DELETE");
    await dialog.getByRole("button", { name: "Cancel" }).click();
    await cancelled;
    reading.release();
    await dialog.getByText("The share file was cancelled. Nothing was written.").waitFor();
    const readingAgain = inspector.hold("messages.get");
    await dialog.getByRole("button", { name: "Save the file" }).click();
    await dialog.getByText("0 of 12 messages").waitFor();
    await expect.poll(() => readingAgain.inputs).not.toEqual([]);
    const left = page.waitForResponse((response) => response.request().method() === "DELETE");
    await page.keyboard.press("Escape");
    await left;
    readingAgain.release();
    await dialog.waitFor({ state: "detached" });
  });

  test("is opened by a drop onto the inspector, and a reload leads back to one's own data", async ({
    open,
    inspector,
  }) => {
    await failing(inspector);
    const lines = await shareOf(inspector);
    const { page } = await open("/destinations");
    const unsaved = page
      .getByRole("navigation", { name: "Destinations", exact: true })
      .getByText("unsaved");
    await page.getByRole("textbox", { name: "Name", exact: true }).fill("Another name");
    await unsaved.waitFor();
    const drop = (name: string, bytes: Uint8Array): Promise<void> =>
      page.evaluate(
        `(() => {
          const bytes = Uint8Array.from(atob(${JSON.stringify(Buffer.from(bytes).toString("base64"))}), (sign) => sign.charCodeAt(0));
          const dataTransfer = new DataTransfer();
          dataTransfer.items.add(new File([bytes], ${JSON.stringify(name)}));
          window.dispatchEvent(new DragEvent("drop", { dataTransfer, bubbles: true, cancelable: true }));
        })()`,
      );
    await drop("other.hookyard", Buffer.from("no share file"));
    await framePage(page).toast.getByText("This is not a share file of Hookyard.").waitFor();
    const whole = await shareBytes(lines, "hookyard", pages);
    await drop("cut.hookyard", whole.subarray(0, whole.length / 2));
    await framePage(page).toast.getByText("cannot be decompressed").waitFor();
    const [head = "", , ...messages] = lines;
    await drop("odd.hookyard", gzipSync([head, '{"stats.get":null}', ...messages].join("\n")));
    await framePage(page).toast.getByText("it has no about.get").waitFor();
    await drop("failure.hookyard", await shareBytes(lines, "hookyard", pages));
    await page.getByRole("note").getByText("A share file.").waitFor();
    await livePage(page).rows.nth(1).waitFor();
    await framePage(page).viewLink("Destinations").click();
    await page.getByRole("region", { name: /^Destination / }).waitFor();
    expect(await unsaved.count()).toBe(0);
    await page.reload();
    await unsaved.waitFor();
    await framePage(page).viewLink("Live").click();
    await livePage(page).rows.first().waitFor();
    await expect.poll(() => page.getByRole("note").count()).toBe(0);
  });
});
