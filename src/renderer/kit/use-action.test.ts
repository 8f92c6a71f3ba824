import { describe, expect, test, vi } from "vitest";
import { actionStore } from "./use-action.ts";

/** An action that ends when it is told to. */
function held() {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  return { action: vi.fn(() => promise), resolve, reject };
}

describe("an action", () => {
  test("does not start again while it runs, and does after it has ended", async () => {
    const { getState: state } = actionStore();
    const { action, resolve } = held();
    state().run("send", action);
    state().run("send", action);
    expect(action).toHaveBeenCalledTimes(1);
    expect(state().isBusy).toBe(true);
    resolve();
    await expect.poll(() => state().isBusy).toBe(false);
    state().run("send", action);
    expect(action).toHaveBeenCalledTimes(2);
  });

  test("does not keep others from being begun, and it is busy until the last has ended", async () => {
    const { getState: state } = actionStore();
    const [first, second] = [held(), held()];
    state().run("row 1", first.action);
    state().run("row 2", second.action);
    expect(second.action).toHaveBeenCalledTimes(1);
    first.reject(new Error("The first was refused."));
    await expect.poll(() => state().problem?.message).toBe("The first was refused.");
    expect(state().isBusy).toBe(true);
    second.resolve();
    await expect.poll(() => state().isBusy).toBe(false);
  });

  test("of which each counts is begun each time", () => {
    const { getState: state } = actionStore();
    const { action } = held();
    void state().attempt(action);
    void state().attempt(action);
    expect(action).toHaveBeenCalledTimes(2);
  });

  test("of which each counts says whether it succeeded", async () => {
    const { getState: state } = actionStore();
    expect(await state().attempt(() => Promise.resolve())).toBe(true);
    expect(await state().attempt(() => Promise.reject(new Error("It was refused.")))).toBe(false);
    expect(state().problem?.message).toBe("It was refused.");
  });

  test("that fails leaves its sentence, whatever was thrown, until the next begins", async () => {
    const { getState: state } = actionStore();
    state().run("read", () => Promise.reject(new TypeError("The file could not be read.")));
    await expect.poll(() => state().problem?.message).toBe("The file could not be read.");
    const { action } = held();
    state().run("send", action);
    expect(state().problem).toBeNull();
    state().run("another", () => {
      // What code that is not ours may do.
      throw "no error at all";
    });
    await expect.poll(() => state().problem?.message).toBe("no error at all");
  });
});
