/**
 * Answers of the API, kept up to date: one call serves all components that show its answer, and is
 * made again when the feed names an area that it reads. Answers that are being refreshed stay on
 * the screen.
 */

import { useCallback, useRef, useSyncExternalStore } from "react";
import { create } from "zustand";
import type { AnswerOf, CallName, InputOf } from "../../contract/contract.ts";
import { placeOf, type ChangeArea } from "../../contract/places.ts";
import { useReturns } from "../kit/use-action.ts";
import { masked } from "../transport/secrets.ts";
import {
  call,
  type Change,
  type Connection,
  listenToUpdates,
  pipelineFor,
  transport,
} from "../transport/transport.ts";
import { CallError } from "../transport/call-error.ts";

type Live<Answer> = { answer: Answer | undefined; error: CallError | null };

type Entry = {
  name: CallName;
  input: object;
  areas: ReadonlySet<ChangeArea>;
  live: Live<unknown>;
  listeners: Set<() => void>;
  running: boolean;
  /** It changed while it was being read. */
  again: boolean;
  /** It was saved here while it was being read: the answer may be from before. */
  isOld: boolean;
  lastReadAt: number;
  /** How long the last one took. */
  tookMs: number;
  timer: number | null;
};

/**
 * An answer is requested at most this often, however fast things change; one that is expensive less
 * often, so that most of the time is left to the pipeline.
 */
const pauseMs = 120;
const pausePerTook = 4;

const entries = new Map<string, Entry>();
const nothing: Live<never> = { answer: undefined, error: null };

/**
 * The answer, requested again after each change in an area that the call reads. A null input
 * requests nothing.
 */
export function useLive<Name extends CallName>(
  name: Name,
  input: InputOf<Name> | null,
): Live<AnswerOf<Name>> {
  return useRead(name, input, placeOf(name).reads);
}

/**
 * An answer that does not change while it is shown. It is requested again only after the connection
 * was lost.
 */
export function useOnce<Name extends CallName>(
  name: Name,
  input: InputOf<Name> | null,
): Live<AnswerOf<Name>> {
  return useRead(name, input, null);
}

/** The answer; until it arrives, the answer to the previous input. Each typed letter asks again. */
export function useLast<Answer>(answer: Answer | undefined): Answer | undefined {
  const last = useRef(answer);
  if (answer !== undefined) last.current = answer;
  return last.current;
}

/**
 * What came first in the answer to a question. It stays while others move before it, until it is
 * gone or something else is asked.
 */
export function useFirst(
  first: string | undefined,
  asked: string,
  isGone: (id: string) => boolean = () => false,
): string | undefined {
  const held = useRef({ first, asked });
  const { first: id, asked: before } = held.current;
  const isOver = id === undefined || before !== asked || isGone(id);
  if (isOver && first !== undefined) held.current = { first, asked };
  return held.current.first;
}

function useRead<Name extends CallName>(
  name: Name,
  input: InputOf<Name> | null,
  areas: readonly ChangeArea[] | null,
): Live<AnswerOf<Name>> {
  // A story asks the same of its own pipeline.
  const asked = `${pipelineFor(name) ?? "own"} ${name} ${areas === null ? "once " : ""}`;
  const key = input === null ? null : asked + JSON.stringify(input);
  const subscribe = useCallback(
    (listener: () => void) => {
      if (key === null || input === null) return () => undefined;
      const entry = entryOf(key, name, input as object, areas);
      entry.listeners.add(listener);
      if (entry.listeners.size === 1) refresh(entry);
      return () => {
        entry.listeners.delete(listener);
        // The next view may show the same answer: it takes it over, and nothing flickers.
        queueMicrotask(() => {
          if (entry.listeners.size > 0 || entries.get(key) !== entry) return;
          if (entry.timer !== null) window.clearTimeout(entry.timer);
          entries.delete(key);
          checkFresh();
        });
      };
    },
    // oxlint-disable-next-line react-hooks/exhaustive-deps -- the key stands for the name, the input and the areas
    [key],
  );
  const live = useSyncExternalStore(subscribe, () =>
    key === null ? nothing : (entries.get(key)?.live ?? nothing),
  );
  return live as Live<AnswerOf<Name>>;
}

function entryOf(
  key: string,
  name: CallName,
  input: object,
  areas: readonly ChangeArea[] | null,
): Entry {
  const known = entries.get(key);
  if (known !== undefined) return known;
  const entry: Entry = {
    name,
    input,
    areas: new Set(areas),
    live: nothing,
    listeners: new Set(),
    running: false,
    again: false,
    isOld: false,
    lastReadAt: 0,
    tookMs: 0,
    timer: null,
  };
  entries.set(key, entry);
  return entry;
}

function refresh(entry: Entry): void {
  if (hold !== null) return;
  if (entry.running) {
    entry.again = true;
    return;
  }
  if (entry.timer !== null) return;
  const pause = Math.max(pauseMs, pausePerTook * entry.tookMs);
  const wait = entry.lastReadAt + pause - window.performance.now();
  if (wait > 0 && entry.live.answer !== undefined) {
    entry.timer = window.setTimeout(() => {
      entry.timer = null;
      refresh(entry);
    }, wait);
    return;
  }
  entry.running = true;
  void read(entry);
}

async function read(entry: Entry): Promise<void> {
  const startedAt = window.performance.now();
  entry.isOld = false;
  try {
    const answer = await call(entry.name, entry.input as never);
    if (entry.isOld) entry.again = true;
    else entry.live = { answer, error: null };
  } catch (error) {
    entry.live = {
      answer: entry.live.answer,
      error:
        error instanceof CallError
          ? error
          : new CallError({ status: 0, code: "unexpected", message: String(error) }),
    };
  }
  entry.running = false;
  entry.lastReadAt = window.performance.now();
  entry.tookMs = entry.lastReadAt - startedAt;
  for (const listener of entry.listeners) listener();
  const isShown = entry.listeners.size > 0;
  if (entry.again && isShown) {
    entry.again = false;
    refresh(entry);
  }
  checkFresh();
}

type Thing = { id?: string };

/** Shows what was saved at once: until it is read again, a form would show what was before. */
function amend(kind: string, pipeline: string | null, thing: Thing): void {
  for (const [key, entry] of entries) {
    const { answer, error } = entry.live as Live<Thing & { items?: readonly Thing[] }>;
    if (answer === undefined || !key.startsWith(`${pipeline ?? "own"} ${kind}.`)) continue;
    const isOfIt = ({ id }: Thing): boolean => id === thing.id;
    const saved = masked(thing);
    if (entry.name === `${kind}.get` && isOfIt(entry.input))
      entry.live = { answer: { ...answer, ...saved }, error };
    else if (entry.name === `${kind}.list` && answer.items?.some(isOfIt) === true) {
      const items = answer.items.map((item) => (isOfIt(item) ? { ...item, ...saved } : item));
      entry.live = { answer: { ...answer, items }, error };
    } else continue;
    entry.isOld = entry.running;
    for (const listener of entry.listeners) listener();
  }
}

/** The newest hold of reads; those before it release nothing any more. */
let hold: object | null = null;

/**
 * Reads nothing while a story begins again: what the views still show is no longer there. Once
 * released, and the views have changed, all that is shown is read again.
 */
export function holdReads(): () => void {
  const own = {};
  hold = own;
  return () =>
    afterTwoFrames(() => {
      if (hold !== own) return;
      hold = null;
      for (const entry of entries.values()) refresh(entry);
      checkFresh();
    });
}

const isBeingRead = ({ running, timer }: Entry): boolean => running || timer !== null;
const waitingForFresh = new Set<() => void>();

/** An answer can show a part that asks for another one, so what follows has two frames to ask. */
function checkFresh(): void {
  const isOld = (): boolean => hold !== null || [...entries.values()].some(isBeingRead);
  if (waitingForFresh.size === 0 || isOld()) return;
  afterTwoFrames(() => {
    if (isOld()) return;
    for (const resolve of waitingForFresh) resolve();
    waitingForFresh.clear();
  });
}

function afterTwoFrames(then: () => void): void {
  window.requestAnimationFrame(() => window.requestAnimationFrame(then));
}

/**
 * Reads all that is shown and can change again; resolves once nothing of it is older than the call.
 */
export function whenFresh(): Promise<void> {
  return new Promise((resolve) => {
    afterTwoFrames(() => {
      waitingForFresh.add(resolve);
      for (const entry of entries.values())
        if (entry.areas.size > 0 || entry.live.answer === undefined) refresh(entry);
      checkFresh();
    });
  });
}

export function readAgain(name: CallName): void {
  for (const entry of entries.values()) if (entry.name === name) refresh(entry);
}

/**
 * Until the connection is back and all is read again. What was typed without a connection is sent
 * first then: an earlier answer could take its field away.
 */
function postponeReads(): void {
  for (const entry of entries.values()) {
    if (entry.timer !== null) window.clearTimeout(entry.timer);
    entry.timer = null;
    entry.again = false;
  }
  checkFresh();
}

function refreshAll(): void {
  for (const entry of entries.values()) refresh(entry);
  useFeed.setState(({ missed }) => ({ missed: missed + 1 }));
}

type Feed = {
  connection: "connecting" | Connection;
  /** On the page's own clock, which never goes back; null while connected. */
  lostAt: number | null;
  /**
   * The newest changes, for those who follow more than a call: each list of changes is a new one.
   */
  changes: readonly Change[];
  /** How many times changes were missed; all may then be different. */
  missed: number;
};

export const useFeed = create<Feed>()(() => ({
  connection: "connecting",
  lostAt: null,
  changes: [],
  missed: 0,
}));

/** Once, at the start. */
export function followChanges(): () => void {
  let lost = false;
  listenToUpdates(amend);
  return transport().watch({
    onChanges(changes) {
      const areas = new Set(changes.map(({ area }) => area));
      for (const entry of entries.values())
        if ([...entry.areas].some((area) => areas.has(area))) refresh(entry);
      useFeed.setState({ changes });
    },
    onResync: refreshAll,
    onConnection(connection) {
      if (connection === "connected" && lost) {
        useReturns.setState(({ count }) => ({ count: count + 1 }));
        refreshAll();
      }
      lost = connection !== "connected";
      if (lost) postponeReads();
      useFeed.setState(({ lostAt }) => ({
        connection,
        lostAt: lost ? (lostAt ?? window.performance.now()) : null,
      }));
    },
  });
}

type KnownDestination = {
  destination: AnswerOf<"destinations.get"> | undefined;
  isDeleted: boolean;
};

/**
 * One destination, out of the list: asking for one that has been deleted would be a refusal, and
 * that is no error here.
 */
export function useDestination(id: string): KnownDestination {
  const items = useLive("destinations.list", {}).answer?.items;
  const destination = items?.find((each) => each.id === id);
  return { destination, isDeleted: items !== undefined && destination === undefined };
}
