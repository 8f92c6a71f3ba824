import { afterAll, beforeEach, describe, expect, test, vi } from "vitest";
import { useToast } from "../kit/copy.tsx";
import { setTransport, showPipeline } from "../transport/transport.ts";

const window = Object.assign(new EventTarget(), {
  location: { hash: "" },
  history: { pushState: () => undefined },
  setTimeout: () => 0,
  clearTimeout: () => undefined,
});
const document: { activeElement: { matches: () => boolean } | null } = { activeElement: null };
vi.stubGlobal("window", window);
vi.stubGlobal("document", document);
const { noConnection } = await import("../transport/call-error.ts");
const { usePlace } = await import("./place.ts");
const { forgetOtherData, offerUndo, openThing, recordEdit, recordSaved, replay, resetEverything } =
  await import("./undo.ts");
const { draftStore, newId } = await import("./drafts.ts");
afterAll(() => vi.unstubAllGlobals());

let replayed: string[] = [];
const edit = (name: string) => ({
  undo: () => replayed.push(`undo ${name}`),
  redo: () => replayed.push(`redo ${name}`),
});
const field = () => ({ matches: () => true });
const undo = async (): Promise<void> => {
  replay(openThing(), "undo");
  await new Promise(setImmediate);
};

let things = 0;
const openAnother = (): void => {
  things += 1;
  usePlace.getState().go({ view: "endpoints", path: [String(things)] });
  window.location.hash = `#/endpoints/${things}`;
};
beforeEach(() => {
  replayed = [];
  document.activeElement = null;
  showPipeline(null);
  useToast.getState().hide();
  openAnother();
});

test("edits of two fields stay two, also when the first is saved after the second got the focus", async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  document.activeElement = field();
  const saved = recordSaved(() => promise, edit("one"));
  document.activeElement = field();
  resolve();
  await saved;
  recordEdit(edit("other"));
  await undo();
  await undo();
  expect(replayed).toEqual(["undo other", "undo one"]);
});

test("edits are taken back in the order in which they were made, also when the first is saved last", async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const first = recordSaved(() => promise, edit("one"));
  const second = recordSaved(async () => undefined, edit("other"));
  await undo();
  resolve();
  await Promise.all([first, second]);
  await undo();
  await vi.waitFor(() => expect(replayed).toEqual(["undo other", "undo one"]));
});

test("a refused edit says so at once, also while an earlier one is being saved", async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const first = recordSaved(() => promise, edit("one"));
  await expect(
    recordSaved(async () => {
      throw new Error("refused");
    }, edit("other")),
  ).rejects.toThrow("refused");
  resolve();
  await first;
  await undo();
  await vi.waitFor(() => expect(replayed).toEqual(["undo one"]));
});

test("edits of one field are one", async () => {
  document.activeElement = field();
  recordEdit(edit("a"));
  recordEdit(edit("ab"));
  await undo();
  await undo();
  expect(replayed).toEqual(["undo a"]);
});

test("an edit that cannot be taken back without a connection is the next that is, and a refused one is passed over", async () => {
  let answer: Error | null = noConnection();
  const saved = (name: string) => ({
    ...edit(name),
    undo() {
      if (answer !== null) throw answer;
      replayed.push(`undo ${name}`);
    },
  });
  for (const name of ["one", "two", "three"]) recordEdit(saved(name));
  await undo();
  await undo();
  expect(replayed).toEqual([]);
  answer = new Error("refused");
  await undo();
  answer = null;
  await undo();
  expect(replayed).toEqual(["undo two"]);
  replay(openThing(), "redo");
  await vi.waitFor(() => expect(replayed).toEqual(["undo two", "redo two"]));
});

test("an edit that could not be taken back without a connection gives way to one that was made meanwhile", async () => {
  const { promise, reject } = Promise.withResolvers<never>();
  recordEdit({ ...edit("old"), undo: () => promise });
  replay(openThing(), "undo");
  recordEdit(edit("new"));
  reject(noConnection());
  await vi.waitFor(() => expect(useToast.getState().text).toBe(noConnection().message));
  await undo();
  await undo();
  expect(replayed).toEqual(["undo new"]);
});

test("the toast takes back its own edit, and goes when another is made", async () => {
  recordEdit(edit("rename"));
  recordEdit(edit("remove"));
  offerUndo("Removed step 2");
  const { action } = useToast.getState();
  recordEdit(edit("choose"));
  expect(useToast.getState().text).toBe(null);
  action?.run();
  await undo();
  expect(replayed).toEqual(["undo choose"]);
});

test("the toast leads back to where its edit was made, though something else is open and edited", async () => {
  const { hash } = window.location;
  const { promise, resolve } = Promise.withResolvers<void>();
  const saved = recordSaved(() => promise, edit("remove"));
  openAnother();
  recordEdit(edit("elsewhere"));
  resolve();
  await saved;
  offerUndo("Removed step 2");
  useToast.getState().action?.run();
  expect(window.location.hash).toBe(hash);
  await vi.waitFor(() => expect(replayed).toEqual(["undo remove"]));
});

test("what was edited in a story is not what has the same id outside of it", async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const saved = recordSaved(() => promise, edit("own"));
  showPipeline("story");
  resolve();
  await saved;
  await undo();
  recordEdit(edit("of the story"));
  showPipeline(null);
  await undo();
  await undo();
  expect(replayed).toEqual(["undo own"]);
});

describe("after everything was removed, nothing from before changes what has the same id", () => {
  const useDrafts = draftStore<object>("Reset");
  const typeAndEdit = (): void => {
    useDrafts.getState().keep("ept_000000001", { name: "Bills" }, {});
    useDrafts.getState().keep(newId, { name: "Next" });
    recordEdit(edit("one"));
  };
  const expectNothing = async (): Promise<void> => {
    expect(useDrafts.getState()).toMatchObject({ drafts: {}, bases: {} });
    await undo();
    expect(replayed).toEqual([]);
  };

  test("here", async () => {
    const calls: unknown[] = [];
    setTransport({
      async call(...asked) {
        calls.push(asked);
        return { dataId: "second" } as never;
      },
      watch: () => () => undefined,
    });
    forgetOtherData("first");
    typeAndEdit();
    await resetEverything(true);
    expect(calls[0]).toEqual(["pipeline.reset", { what: "everything", clock: true }]);
    await expectNothing();
    useDrafts.getState().keep("ept_000000001", { name: "Of the new one" });
    forgetOtherData("second");
    expect(useDrafts.getState().drafts).toEqual({ ept_000000001: { name: "Of the new one" } });
  });

  test("elsewhere, which is noticed by the data that is shown, and not in a story", async () => {
    forgetOtherData("second");
    typeAndEdit();
    showPipeline("story");
    forgetOtherData("of the story");
    forgetOtherData(undefined);
    showPipeline(null);
    expect(Object.keys(useDrafts.getState().drafts)).toEqual(["ept_000000001", newId]);
    forgetOtherData("third");
    await expectNothing();
  });
});
