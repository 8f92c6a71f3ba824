import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { keptList } from "./kept-list.ts";

let storage: Map<string, string>;
let isFull: boolean;
/** Browsers announce a change to the other tabs only; this also reaches the one that made it. */
let announce: (key: string) => void;

beforeEach(() => {
  storage = new Map();
  isFull = false;
  const localStorage = {
    getItem: (key: string) => storage.get(key) ?? null,
    setItem(key: string, value: string) {
      if (isFull) throw new Error("the quota is exceeded");
      storage.set(key, value);
    },
  };
  const window = Object.assign(new EventTarget(), { localStorage });
  announce = (key) => window.dispatchEvent(Object.assign(new Event("storage"), { key }));
  vi.stubGlobal("window", window);
});
afterEach(() => vi.unstubAllGlobals());

const textOf = (value: unknown): string | null => (typeof value === "string" ? value : null);

function tab() {
  const shown: (readonly string[])[] = [];
  const list = keptList("texts", textOf, (items) => shown.push(items));
  return { ...list, shown, add: (text: string) => list.change((items) => [...items, text]) };
}

test("two tabs keep each other's items, and show them", () => {
  const [one, other] = [tab(), tab()];
  one.add("a");
  other.add("b");
  expect(other.shown.at(-1)).toEqual(["a", "b"]);
  announce("texts");
  expect(one.shown.at(-1)).toEqual(["a", "b"]);
  one.change((items) => items.filter((text) => text !== "a"));
  expect(other.read()).toEqual(["b"]);
  announce("others");
  expect(one.shown).toHaveLength(3);
});

test("what the browser has no room for lives on in its tab, until there is room", () => {
  const one = tab();
  one.add("a");
  isFull = true;
  one.add("b");
  announce("texts");
  expect(one.shown).toEqual([["a"], ["a", "b"]]);
  expect(tab().read()).toEqual(["a"]);
  isFull = false;
  one.add("c");
  expect(tab().read()).toEqual(["a", "b", "c"]);
});

test.each(["nonsense", "7", '[1, {}, "a", null]'])("%s in the storage stops nothing", (text) => {
  storage.set("texts", text);
  expect(tab().read()).toEqual(text.includes('"a"') ? ["a"] : []);
});
