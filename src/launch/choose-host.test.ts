import { expect, test } from "vitest";
import { chooseHost, hasDisplay, type Machine } from "./choose-host.ts";

const usual: Machine = { hasDisplay: true, isRoot: false, runtime: "there" };

test.each<[string, Partial<Machine>, object]>([
  ["the runtime is there", {}, { host: "desktop" }],
  ["the runtime may be downloaded", { runtime: "missing" }, { host: "desktop-after-download" }],
  [
    "the download failed",
    { runtime: "unavailable" },
    {
      host: "headless",
      opensBrowser: true,
      sentence: expect.stringContaining("could not be downloaded"),
    },
  ],
  [
    "the runtime does not start",
    { runtime: "broken" },
    { host: "headless", opensBrowser: true, sentence: expect.stringContaining("does not start") },
  ],
  [
    "root",
    { isRoot: true },
    { host: "headless", opensBrowser: true, sentence: expect.stringContaining("as root") },
  ],
  [
    "root without a runtime: nothing is downloaded",
    { isRoot: true, runtime: "missing" },
    { host: "headless", opensBrowser: true },
  ],
  [
    "no display",
    { hasDisplay: false },
    { host: "headless", opensBrowser: false, sentence: expect.stringContaining("no display") },
  ],
  [
    "no display and no runtime: nothing is downloaded",
    { hasDisplay: false, runtime: "missing" },
    { host: "headless", opensBrowser: false },
  ],
  [
    "no display, as root: no browser is opened",
    { hasDisplay: false, isRoot: true },
    { host: "headless", opensBrowser: false },
  ],
])("%s", (_name, machine, expected) => {
  expect(chooseHost({ ...usual, ...machine })).toMatchObject(expected);
});

test("whatever the machine, the reason is one plain sentence", () => {
  for (const runtime of ["there", "missing", "unavailable", "broken"] as const) {
    for (const has of [true, false]) {
      for (const isRoot of [true, false]) {
        const choice = chooseHost({ hasDisplay: has, isRoot, runtime });
        if (choice.host === "headless") expect(choice.sentence).toMatch(/^[A-Z][^.\n]+\.$/);
      }
    }
  }
});

test("only Linux says by its environment whether there is a display", () => {
  expect(hasDisplay("linux", {})).toBe(false);
  expect(hasDisplay("linux", { DISPLAY: "" })).toBe(false);
  expect(hasDisplay("linux", { DISPLAY: ":0" })).toBe(true);
  expect(hasDisplay("linux", { WAYLAND_DISPLAY: "wayland-0" })).toBe(true);
  expect(hasDisplay("darwin", {})).toBe(true);
  expect(hasDisplay("win32", {})).toBe(true);
});
