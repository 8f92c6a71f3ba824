/**
 * At the end of the soak: whether every message that was answered for is there, in a state that it
 * may have.
 */

import { messageIds } from "../../src/domain/ids.ts";
import type { AnswerOf } from "../../src/contract/contract.ts";
import type { Program } from "../bench/children.ts";
import type { Load } from "./load.ts";

export type Check = { what: string; found: string; passed: boolean };

type Page = AnswerOf<"messages.list">;
type Item = Page["items"][number];
type Stats = AnswerOf<"stats.get">;

const ends: readonly string[] = ["delivered", "failed", "expired", "cancelled"];

export const sum = (counts: Record<string, number>): number =>
  Object.values(counts).reduce((total, n) => total + n, 0);

async function keptMessages(program: Program): Promise<Item[]> {
  const items: Item[] = [];
  let cursor: string | null = null;
  do {
    const page: Page = await program.call<Page>(
      "GET",
      `/api/messages?limit=500${cursor === null ? "" : `&cursor=${cursor}`}`,
    );
    items.push(...page.items);
    cursor = page.nextCursor;
  } while (cursor !== null);
  return items;
}

type AccountsOptions = {
  program: Program;
  load: Load;
  destinationsOf: ReadonlyMap<string, number>;
  maxMessages: number;
};

/** The pipeline is idle, and retention has been. */
export async function checkAccounts({
  program,
  load,
  destinationsOf,
  maxMessages,
}: AccountsOptions): Promise<Check[]> {
  const { messages, deliveries } = await program.call<Stats>("GET", "/api/stats");
  const items = await keptMessages(program);
  const numbers = items.map(({ id }) => messageIds.parse(id) ?? 0);
  const newest = Math.max(0, ...numbers);
  const removed = newest - new Set(numbers).size;
  const removedUpTo = newestMissing(numbers);
  // Rejected and duplicate messages have a quota of their own. Retention passes over what still
  // moves, which at that age is only what had to be tried again.
  const counted = items.filter(({ state }) => state !== "rejected" && state !== "duplicate");
  const passedOver = counted.filter(({ id }) => (messageIds.parse(id) ?? 0) < removedUpTo);
  const accepted = sum(load.accepted);
  const wrong = items.filter((item) => !isAsSent(item, load));
  const routed = items.filter(({ state }) => ends.includes(state));
  const wanted = routed.reduce(
    (total, { sourceId }) => total + (destinationsOf.get(sourceId) ?? 0),
    0,
  );
  return [
    // Numbers are given out one by one, so the newest one's is how many there have ever been.
    {
      what: "every accepted message was committed",
      found: `${accepted} accepted, ${newest} committed`,
      passed: accepted === newest,
    },
    {
      what: "retention took the oldest and nothing else",
      found: `${removed} removed, ${counted.length} kept of at most ${maxMessages}, ${passedOver.length} older ones that were waiting among them, beside ${items.length - counted.length} rejected and duplicate ones`,
      passed:
        removed > 0 &&
        counted.length === maxMessages &&
        passedOver.every(({ attempts }) => attempts > 1),
    },
    {
      what: "the states add up to what is kept",
      found: `${sum(messages.byState)} in states, ${messages.total} in all, ${items.length} in the list`,
      passed: sum(messages.byState) === items.length && messages.total === items.length,
    },
    {
      what: "each kept message is one that was sent, in a state that fits",
      found: wrong.length === 0 ? "all" : `${wrong.length} are not: ${JSON.stringify(wrong[0])}`,
      passed: wrong.length === 0,
    },
    {
      what: "each routed message has all its deliveries, each at its end",
      found: `${deliveries.total} deliveries, ${wanted} wanted: ${JSON.stringify(deliveries.byState)}`,
      passed:
        deliveries.total === wanted &&
        Object.entries(deliveries.byState).every(([state, n]) => n === 0 || ends.includes(state)),
    },
  ];
}

/**
 * Of numbers in descending order, the highest one below the first that is not there; 0 when there
 * are all.
 */
function newestMissing(numbers: readonly number[]): number {
  const first = numbers[0] ?? 0;
  const place = numbers.findIndex((number, at) => number !== first - at);
  return place === -1 ? Math.max(0, first - numbers.length) : first - place;
}

function isAsSent({ messageId, state }: Item, { book }: Load): boolean {
  const kind = book.get(messageId);
  // What was no message has no id of its own, and was rejected.
  if (kind === undefined || kind === "rejected") return state === "rejected";
  if (state === "duplicate") return true;
  return kind === "unrouted" ? state === "filtered" : ends.includes(state);
}
