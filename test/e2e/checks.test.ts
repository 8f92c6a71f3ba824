import { describe, expect } from "vitest";
import { seriousFindings } from "./support/axe.ts";
import { test } from "./support/inspector-test.ts";
import { layoutFindings } from "./support/layout.ts";

const add = (markup: string): string =>
  `document.querySelector("main").insertAdjacentHTML("beforeend", ${JSON.stringify(markup)})`;

describe("the checks of these tests", () => {
  test("notice errors, exceptions, what the content security policy forbids, and requests to others", async ({
    open,
  }) => {
    const guarded = await open("/clients");
    const { page, problems } = guarded;
    expect(problems()).toEqual([]);
    await page.evaluate("console.error('an error')");
    await page.evaluate("void queueMicrotask(() => { throw new Error('an exception'); })");
    await page.evaluate(add(`<img src="data:," onerror="1">`));
    await page.evaluate(add(`<img src="http://127.0.0.1:9/picture.png">`));
    await expect.poll(() => problems().join("\n")).toMatch(/an error[\s\S]*an exception/);
    await expect.poll(() => problems().join("\n")).toMatch(/policy: script-src-attr/);
    await expect
      .poll(() => problems().join("\n"))
      .toMatch(/policy: img-src http:\/\/127\.0\.0\.1:9/);
    guarded.expect(/an error|an exception|policy: |Content Security Policy|127\.0\.0\.1:9/);
  });

  test("notice what sticks out, what is cut off, and what axe finds serious", async ({ open }) => {
    const { page } = await open("/clients");
    expect(await layoutFindings(page)).toEqual([]);
    expect(await seriousFindings(page)).toEqual([]);
    await page.evaluate(
      add(
        `<div class="cut"><button><svg></svg></button></div><p class="wide">${"W".repeat(400)}</p>`,
      ),
    );
    expect(await seriousFindings(page)).toEqual([expect.stringContaining("button-name")]);
    expect(await seriousFindings(page, "colours")).toEqual([]);
    await page.evaluate("document.querySelector('.wide').style.color = 'rgb(250, 250, 250)'");
    expect(await seriousFindings(page, "colours")).toEqual([
      expect.stringContaining("color-contrast"),
    ]);
    await page.evaluate(
      "Object.assign(document.querySelector('.wide').style, { position: 'absolute', left: '100px', top: '100px' })",
    );
    expect((await layoutFindings(page)).join("\n")).toMatch(
      /sticks out of the window|the page is \d+ px wide/,
    );
    await page.evaluate("document.querySelector('.wide').remove()");
    await page.evaluate(
      "Object.assign(document.querySelector('.cut').style, { width: '40px', overflow: 'hidden' })",
    );
    await page.evaluate(
      "Object.assign(document.querySelector('.cut button').style, { width: '200px' })",
    );
    expect((await layoutFindings(page)).join("\n")).toMatch(/cuts off/);
  });

  test("notice in each colour scheme what axe could not see before, and links that look like their text", async ({
    open,
  }) => {
    const { page } = await open("/clients");
    const style = (selector: string, values: object): Promise<void> =>
      page.evaluate(
        `Object.assign(document.querySelector("${selector}").style, ${JSON.stringify(values)})`,
      );
    await page.evaluate(add(`<p class="late">late</p>`));
    await style(".late", { position: "absolute", top: "5000px", left: "400px" });
    await style(".late", { overflow: "hidden", color: "rgb(250, 250, 250)" });
    expect(await seriousFindings(page, "colours")).toEqual([]);
    await style(".late", { top: "300px" });
    expect(await seriousFindings(page, "colours")).toEqual([
      expect.stringContaining("color-contrast"),
    ]);
    await page.evaluate("document.querySelector('.late').remove()");
    await page.evaluate(add(`<p>A text with <a href="#/live" class="alike">a link</a> in it.</p>`));
    await style(".alike", { color: "rgb(90, 90, 90)", textDecoration: "none" });
    expect(await seriousFindings(page, "colours")).toEqual([
      expect.stringContaining("link-in-text-block"),
    ]);
  });
});
