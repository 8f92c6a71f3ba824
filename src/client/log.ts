/** The lines of `DEBUG=analytics`: what happened, in words. */

import type { ClientEvent } from "./events.ts";

/** `analytics` or `*` among what DEBUG names. */
export function isDebugged(debug: string | undefined): boolean {
  return debug?.split(/[\s,]+/).some((name) => name === "analytics" || name === "*") ?? false;
}

export function logLine(event: ClientEvent): string {
  return `${new Date(event.at).toISOString()} analytics ${textOf(event)}`;
}

function textOf(event: ClientEvent): string {
  const { state } = event;
  switch (event.event) {
    case "queued":
      return `queued ${event.type} ${event.messageId} (${state.queued} of ${state.flushAt})`;
    case "flushed":
      return `flushing ${counted(event.messages, "message")} in ${counted(event.batches.length, "batch", "batches")} (${reasons[event.reason]})`;
    case "sending":
      return `sending batch ${event.batchId}: ${counted(event.messages, "message")}, ${event.batchBytes} bytes, try ${event.tries}`;
    case "sent":
      return `answer to batch ${event.batchId}: ${event.answer.status} ${shortened(event.answer.body)}`.trimEnd();
    case "retried": {
      const seconds = Math.max(0, event.nextTryAt - event.at) / 1000;
      return `batch ${event.batchId}, try ${event.tries}: ${event.failure}; again in ${seconds} s`;
    }
    case "failed":
      return `batch ${event.batchId} given up after ${counted(event.tries, "try", "tries")}: ${event.failure} ${shortened(event.answer?.body ?? "")}`.trimEnd();
    case "closed":
      return "closed";
  }
}

const reasons = {
  size: "size reached",
  time: "interval reached",
  flush: "flush was called",
  close: "closing",
};

function counted(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}

function shortened(text: string): string {
  const line = text.replaceAll(/\s+/g, " ");
  return line.length > 200 ? `${line.slice(0, 200)}…` : line;
}
