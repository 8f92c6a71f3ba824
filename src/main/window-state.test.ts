import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { boundsOn, readWindowState, writeWindowState } from "./window-state.ts";

const directory = mkdtempSync(join(tmpdir(), "hookyard-window-"));
const file = join(directory, "window.json");
afterAll(() => rmSync(directory, { recursive: true }));

const laptop = { x: 0, y: 25, width: 1512, height: 900 };
const beside = { x: 1512, y: 0, width: 2560, height: 1440 };

test("what was written is read", () => {
  const state = { bounds: { x: 10, y: 30, width: 1200, height: 800 }, isMaximized: true };
  writeWindowState(file, state);
  expect(readWindowState(file)).toEqual(state);
});

test.each([
  "",
  "{",
  "null",
  "7",
  "[]",
  '{"bounds":{"x":1}}',
  '{"bounds":{"x":1,"y":2,"width":"3","height":4},"isMaximized":1}',
])("%j is as good as nothing", (text) => {
  writeFileSync(file, text);
  expect(readWindowState(file)).toEqual({ bounds: null, isMaximized: false });
});

test("a missing file is as good as nothing", () => {
  expect(readWindowState(join(directory, "none"))).toEqual({ bounds: null, isMaximized: false });
});

test.each([
  ["no window before, on a large screen", [beside], null, { width: 1440, height: 900 }],
  [
    "no window before, on a laptop",
    [{ ...laptop, height: 800 }],
    null,
    { width: 1440, height: 800 },
  ],
  [
    "on the screen",
    [laptop],
    { x: 20, y: 30, width: 1200, height: 800 },
    { x: 20, y: 30, width: 1200, height: 800 },
  ],
  [
    "on the second screen",
    [laptop, beside],
    { x: 1600, y: 0, width: 2000, height: 1000 },
    { x: 1600, y: 0, width: 2000, height: 1000 },
  ],
  [
    "on a screen that is gone",
    [laptop],
    { x: 1600, y: 0, width: 2000, height: 1000 },
    { width: 1512, height: 900 },
  ],
  [
    "with its title bar above the screen",
    [laptop],
    { x: 20, y: -300, width: 1200, height: 800 },
    { width: 1200, height: 800 },
  ],
  [
    "all but off the screen",
    [laptop],
    { x: 1450, y: 30, width: 1200, height: 800 },
    { width: 1200, height: 800 },
  ],
  [
    "smaller than it may be",
    [laptop],
    { x: 20, y: 30, width: 300, height: 200 },
    { x: 20, y: 30, width: 1100, height: 700 },
  ],
])("a window %s", (_name, screens, bounds, expected) => {
  expect(boundsOn(screens, bounds)).toEqual(expected);
});
