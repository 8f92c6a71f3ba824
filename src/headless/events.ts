/**
 * What changed, as server-sent events. Each is `event: change` with its sequence number as the id,
 * so that a client resumes where it was; `event: resync` says that this is not possible and
 * everything must be read again.
 */

import type { ServerResponse } from "node:http";
import type { Change, ChangeFeed } from "../engine/pipeline.ts";
import type { RealTimer } from "../engine/real-time.ts";
import { startIdleTimer } from "../engine/real-time.ts";
import { guardHeaders } from "./json.ts";

/** Below the 30 to 60 seconds after which proxies give up on a silent connection. */
const heartbeatMs = 15_000;
/** Some ten thousand changes: a reader that far behind is better off reading everything again. */
const maxBuffered = 1024 * 1024;

/** `after` is the sequence number that the client saw last; null starts with what comes next. */
export function streamChanges({
  response,
  changes,
  after,
}: {
  response: ServerResponse;
  changes: ChangeFeed;
  after: string | null;
}): void {
  response.writeHead(200, {
    ...guardHeaders,
    "Content-Type": "text/event-stream; charset=utf-8",
    "X-Accel-Buffering": "no",
  });

  const write = (text: string) => {
    if (response.destroyed) return;
    response.write(text);
    if (response.writableLength > maxBuffered) response.destroy();
  };
  const writeChanges = (list: readonly Change[]) => write(textOf(list));

  const missed = after === null ? "" : missedAfter(changes, after);
  const unsubscribe = changes.subscribe(writeChanges);
  // An id without data is no event, but from now on the client knows where to resume.
  if (missed === null)
    write(
      `id: ${changes.sequence()}\nevent: resync\ndata: ${JSON.stringify({ sequence: changes.sequence() })}\n\n`,
    );
  else if (missed !== "") write(missed);
  else write(`id: ${changes.sequence()}\n\n`);

  let heartbeat: RealTimer;
  const beat = () => {
    heartbeat = startIdleTimer(heartbeatMs, () => {
      write(": still here\n\n");
      beat();
    });
  };
  beat();
  response.on("close", () => {
    unsubscribe();
    heartbeat.cancel();
  });
}

/** Null when they are no longer kept, or more than a reader may leave unread. */
function missedAfter(changes: ChangeFeed, after: string): string | null {
  const sequence = /^\d{1,16}$/.test(after) ? Number(after) : Number.POSITIVE_INFINITY;
  const missed = sequence > changes.sequence() ? null : changes.since(sequence);
  if (missed === null) return null;
  let text = "";
  for (const change of missed) {
    text += lineOf(change);
    if (text.length > maxBuffered) return null;
  }
  return text;
}

/** All streams get the same list. */
const texts = new WeakMap<readonly Change[], string>();

function textOf(list: readonly Change[]): string {
  const text = texts.get(list) ?? list.map(lineOf).join("");
  texts.set(list, text);
  return text;
}

function lineOf(change: Change): string {
  return `id: ${change.sequence}\nevent: change\ndata: ${JSON.stringify(change)}\n\n`;
}
