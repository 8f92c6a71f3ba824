import { afterEach, expect, test, vi } from "vitest";
import { hideSecrets, masked } from "../transport/secrets.ts";
import {
  changeDraft,
  changedAs,
  differing,
  draftStore,
  newId,
  putDraft,
  saveDraft,
  setDraftsAside,
  shownDraft,
} from "./drafts.ts";

type Draft = { name: string; url: string; ids: readonly string[] };

const saved: Draft = { name: "Billing", url: "http://a.test", ids: ["a", "b"] };
const lists = { ids: ["a", "b", "c", "d"] };
const drafts = () => draftStore<Draft>("Test").getState;

afterEach(() => {
  hideSecrets(false);
  vi.unstubAllGlobals();
});

test("a draft shows what others changed meanwhile, except where it was changed too", () => {
  const getState = drafts();
  expect(shownDraft(getState(), "dst_1", saved, lists)).toEqual(saved);
  getState().keep("dst_1", { ...saved, url: "http://b.test", ids: ["b", "c"] }, saved);
  const now = { name: "Bills", url: "http://a.test/2", ids: ["d", "b", "a"] };
  const shown = shownDraft(getState(), "dst_1", now, lists);
  expect(shown).toEqual({ name: "Bills", url: "http://b.test", ids: ["d", "b", "c"] });
  expect(differing(shown, now)).toEqual({ url: "http://b.test", ids: ["d", "b", "c"] });
});

test("an id that no longer exists is left out of a draft", () => {
  const getState = drafts();
  const { keep } = getState();
  keep("dst_1", { ...saved, ids: ["a", "b", "c"] }, saved);
  keep(newId, { ...saved, ids: ["b", "c", "gone"] }, saved);
  const left = { ids: ["a", "d"] };
  const now = { ...saved, ids: ["a"] };
  expect(shownDraft(getState(), "dst_1", now, left).ids).toEqual(["a"]);
  expect(shownDraft(getState(), newId, { ...saved, ids: [] }, left).ids).toEqual([]);
  // The list of those that exist may be older than what is saved.
  expect(shownDraft(getState(), "dst_1", { ...saved, ids: ["a", "e"] }, left).ids).toEqual([
    "a",
    "e",
  ]);
});

test("a draft of an earlier version of the page, which has no base, is shown as it is", () => {
  const getState = drafts();
  getState().keep("dst_1", { ...saved, name: "Bills" });
  const now = { ...saved, url: "http://b.test" };
  expect(shownDraft(getState(), "dst_1", now, lists)).toEqual({ ...saved, name: "Bills" });
});

test("an edit is taken back alone", () => {
  const before = { ...saved, ids: ["a"] };
  const after = { ...before, ids: ["a", "b"] };
  const now = { name: "Bills", url: "http://b.test", ids: ["c", "b", "a"] };
  expect(changedAs(after, before, now, lists)).toEqual({ ...now, ids: ["c", "a"] });
  expect(changedAs(before, after, { ...now, ids: ["c"] }, lists).ids).toEqual(["c", "b"]);
});

/** What an editor does each time it is rendered, and what it shows then. */
const edited = (getState: ReturnType<typeof drafts>, before: Draft): Draft => {
  const isSame = (one: Draft, other: Draft): boolean =>
    JSON.stringify(one) === JSON.stringify(other);
  getState().saved.set("dst_1", { before, lists, isSame });
  return shownDraft(getState(), "dst_1", before, lists);
};

test("an edit is undone against what a later editor of the same thing has saved", () => {
  const getState = drafts();
  const first = edited(getState, saved);
  const named = { ...first, name: "Bills" };
  putDraft({ getState }, "dst_1", named);
  const second = edited(getState, saved);
  const both = { ...second, url: "http://b.test" };
  putDraft({ getState }, "dst_1", both);
  getState().drop("dst_1");
  expect(edited(getState, both)).toEqual(both);

  changeDraft({ getState }, "dst_1", both, second);
  expect(edited(getState, both)).toEqual(named);
  changeDraft({ getState }, "dst_1", named, first);
  expect(edited(getState, both)).toEqual(saved);
  changeDraft({ getState }, "dst_1", first, named);
  changeDraft({ getState }, "dst_1", second, both);
  expect(edited(getState, both)).toEqual(both);
  expect(getState().drafts).toEqual({});
});

test("a new one keeps its draft, also when it equals what it began with", () => {
  const getState = drafts();
  getState().saved.set(newId, { before: saved, lists, isSame: () => true });
  putDraft({ getState }, newId, saved);
  expect(getState().drafts).toEqual({ [newId]: saved });
});

test("what is typed while a save runs stays, and is unsaved", async () => {
  const getState = drafts();
  const { keep } = getState();
  const sent = { ...saved, name: "Bills" };
  keep("dst_1", sent, saved);
  const held = Promise.withResolvers<void>();
  const saving = saveDraft({ getState }, "dst_1", sent, () => held.promise);
  keep("dst_1", { ...sent, url: "http://b.test" }, saved);
  held.resolve();
  await saving;
  const typed = { ...sent, url: "http://b.test" };
  expect(shownDraft(getState(), "dst_1", sent, lists)).toEqual(typed);
  expect(differing(typed, sent)).toEqual({ url: "http://b.test" });

  await saveDraft({ getState }, "dst_1", typed, async () => {});
  expect(getState()).toMatchObject({ drafts: {}, bases: {} });
});

test("what is typed while a new thing is made is a draft of what was made", async () => {
  const getState = drafts();
  const { keep } = getState();
  keep(newId, saved, saved);
  const held = Promise.withResolvers<void>();
  let isOpen = false;
  const saving = saveDraft({ getState }, newId, saved, async () => {
    await held.promise;
    return { id: "dst_2", open: () => (isOpen = true) };
  });
  keep(newId, { ...saved, name: "Bills" }, saved);
  held.resolve();
  await saving;
  expect(isOpen).toBe(true);
  expect(Object.keys(getState().drafts)).toEqual(["dst_2"]);
  const made = { ...saved, url: "http://a.test/" };
  expect(shownDraft(getState(), "dst_2", made, lists)).toEqual({ ...made, name: "Bills" });
});

test("a save that is refused keeps the draft", async () => {
  const getState = drafts();
  getState().keep("dst_1", { ...saved, name: "" }, saved);
  const refused = saveDraft({ getState }, "dst_1", saved, () => Promise.reject(new Error("no")));
  await expect(refused).rejects.toThrow("no");
  expect(getState().drafts["dst_1"]?.name).toBe("");
});

test("a draft is shown without its secrets while they are hidden, and keeps them", () => {
  const getState = drafts();
  const url = "https://example.test/?token=s3cr3t-v4lu3";
  const renamed = { ...edited(getState, saved), name: "Bills" };
  putDraft({ getState }, "dst_1", renamed);
  const typed = { ...edited(getState, saved), url };
  putDraft({ getState }, "dst_1", typed);

  hideSecrets(true);
  const shown = edited(getState, masked(saved));
  expect(shown.url).toMatch(/token=•+/);
  putDraft({ getState }, "dst_1", { ...shown, ids: [] });
  hideSecrets(false);
  expect(edited(getState, saved)).toEqual({ name: "Bills", url, ids: [] });

  hideSecrets(true);
  changeDraft({ getState }, "dst_1", shown, { ...shown, url: saved.url, name: saved.name });
  changeDraft({ getState }, "dst_1", { ...shown, ids: [] }, shown);
  expect(getState().drafts).toEqual({});
});

/** What the browser keeps for this tab. */
function stubStorage(): Map<string, string> {
  const storage = new Map<string, string>();
  vi.stubGlobal("window", {
    sessionStorage: {
      getItem: (key: string) => storage.get(key) ?? null,
      setItem: (key: string, value: string) => storage.set(key, value),
    },
  });
  return storage;
}

test("a draft that is edited while secrets are hidden has them after a reload", () => {
  const storage = stubStorage();
  const { keep } = drafts()();
  hideSecrets(true);
  const draft = { ...saved, url: "https://example.test/?token=s3cr3t-v4lu3" };
  keep("dst_1", masked(draft), masked(draft));
  expect(JSON.stringify([...storage])).not.toContain("•");
  expect(drafts()()).toMatchObject({ drafts: { dst_1: draft }, bases: { dst_1: draft } });
});

test("drafts that were set aside twice come back when both have ended", () => {
  const storage = stubStorage();
  const getState = drafts();
  getState().keep("dst_1", saved);
  const stored = [...storage];
  const endStory = setDraftsAside();
  getState().keep("dst_1", { ...saved, name: "Of the story" });
  const endShare = setDraftsAside();
  endStory();
  endStory();
  expect(getState().drafts).toEqual({});
  getState().keep("dst_1", { ...saved, name: "Of the share file" });
  expect([...storage]).toEqual(stored);
  endShare();
  expect(getState().drafts).toEqual({ dst_1: saved });
});
