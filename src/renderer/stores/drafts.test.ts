import { afterEach, expect, test, vi } from "vitest";
import { hideSecrets, masked } from "../transport/secrets.ts";
import { draftStore } from "./drafts.ts";

afterEach(() => {
  hideSecrets(false);
  vi.unstubAllGlobals();
});

test("a draft that is edited while secrets are hidden has them after a reload", () => {
  const storage = new Map<string, string>();
  vi.stubGlobal("window", {
    sessionStorage: {
      getItem: (key: string) => storage.get(key) ?? null,
      setItem: (key: string, value: string) => storage.set(key, value),
    },
  });
  const use = draftStore<{ url: string }>("Test");
  hideSecrets(true);
  const draft = { url: "https://example.test/?token=s3cr3t-v4lu3" };
  use.getState().keep("dst_1", masked(draft));
  expect(use.getState().drafts["dst_1"]).not.toEqual(draft);
  expect(draftStore("Test").getState().drafts).toEqual({ dst_1: draft });
});
