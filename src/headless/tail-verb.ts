/** `hookyard tail`: prints messages as they arrive and as their state changes. */

import type { AnswerOf } from "../contract/contract.ts";
import type { ChangeAnswer } from "../contract/events.ts";
import { messageIds } from "../domain/ids.ts";
import type * as commands from "./commands.ts";
import { WrongInput, type Asked } from "./verb-command.ts";
import { filterOf, messageLine } from "./verb-messages.ts";

/**
 * A busy pipeline names only the last messages that changed. So many of the newest are then looked
 * at: each costs the pipeline some time.
 */
const lookBack = 1_000;
/** The most that a call returns. */
const pageSize = 200;

type Row = AnswerOf<"messages.list">["items"][number];

export async function tail(asked: Asked<typeof commands.tail>): Promise<number> {
  const { hookyard, values, positionals, print, say, whenOver } = asked;
  const count = values.count === undefined ? Infinity : Number(values.count);
  if (!(count >= 1) || (count !== Infinity && !Number.isInteger(count)))
    throw new WrongInput("--count needs a number from 1.");
  const filter = await filterOf({ hookyard, values: {}, positionals });
  const states = new Map<string, string>();
  let newest = Infinity;
  /** The oldest first: all that are newer than `newest`, and older ones down to this message. */
  const read = async (downTo: number): Promise<Row[]> => {
    const found: Row[] = [];
    for (let cursor: string | null | undefined; cursor !== null;) {
      const { items, nextCursor } = await hookyard.call("messages.list", {
        ...{ filter, limit: pageSize },
        ...(cursor === undefined ? {} : { cursor }),
      });
      found.push(...items);
      const oldest = rowOf(items.at(-1)?.id ?? "");
      const isEnough = oldest <= newest && (oldest <= downTo || found.length >= lookBack);
      cursor = isEnough ? null : nextCursor;
    }
    return found.toReversed();
  };
  const changes = await hookyard.changes();
  const over = whenOver();
  const there = await read(0);
  for (const { id, state } of there) states.set(id, state);
  newest = rowOf(there.at(-1)?.id ?? "");
  say("Waiting for messages. Ctrl+C ends it.");
  let printed = 0;
  for await (const downTo of gathered(changes, over)) {
    for (const message of await read(downTo)) {
      newest = Math.max(newest, rowOf(message.id));
      if (states.get(message.id) === message.state) continue;
      states.set(message.id, message.state);
      print(message, messageLine(message));
      printed += 1;
      if (printed >= count) return 0;
    }
    for (const id of states.keys()) {
      if (states.size <= 20 * lookBack) break;
      states.delete(id);
    }
  }
  return 0;
}

/**
 * The oldest message that may have changed, each time that some have. Changes that come while the
 * reader is busy are one.
 */
async function* gathered(
  changes: AsyncIterable<ChangeAnswer | "resync">,
  over: Promise<void>,
): AsyncGenerator<number> {
  let downTo: number | null = null;
  const ends: { error?: unknown }[] = [];
  let wake = Promise.withResolvers<void>();
  const end = (how: { error?: unknown }): void => {
    ends.push(how);
    wake.resolve();
  };
  const follow = async (): Promise<void> => {
    for await (const change of changes) {
      const oldest = oldestIn(change);
      if (oldest === null) continue;
      downTo = Math.min(downTo ?? Infinity, oldest);
      wake.resolve();
    }
  };
  follow().catch((error: unknown) => end({ error }));
  void over.then(() => end({}));
  for (;;) {
    await wake.promise;
    const [ended] = ends;
    if (ended !== undefined && "error" in ended) throw ended.error;
    if (ended !== undefined) return;
    wake = Promise.withResolvers();
    const oldest = downTo ?? Infinity;
    downTo = null;
    yield oldest;
  }
}

/** 0 for what is no id. */
const rowOf = (id: string): number => Number(messageIds.parse(id) ?? 0);

/** The oldest message that may have another state; null when the change is none of messages. */
function oldestIn(change: ChangeAnswer | "resync"): number | null {
  if (change === "resync") return 0;
  if (change.area !== "messages") return null;
  const { ids, count, added } = change;
  if (added === count) return Infinity;
  return count > ids.length ? 0 : Math.min(...ids.map(rowOf));
}
