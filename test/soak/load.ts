/**
 * Sends the mixed load at its pace, in batches and single calls, and keeps the book of what was
 * answered for.
 */

import { Pool } from "undici";
import { seeded, type Random } from "../bench/messages.ts";
import { createMixer, type Kind, type Mixed } from "./mixed-messages.ts";

/** Turns a second, and what is sent in each: 500 messages a second in 160 requests. */
const turns = 20;
const singlesOfTurn = 7;
const batchOfTurn = 18;
export const messagesPerSecond = turns * (singlesOfTurn + batchOfTurn);

/** Concurrent requests; more than that and the load waits, which the rate then shows. */
const connections = 16;

export type Sender = { writeKey: string; mode: "explain" | "production" };

export type Load = {
  /** Messages answered for, of each kind. */
  accepted: Record<Kind, number>;
  /** What each of the newest accepted messages was, by its message id. */
  book: ReadonlyMap<string, Exclude<Kind, "garbage" | "duplicate">>;
  /** Answers that should not have been. */
  problems: string[];
  stop(): Promise<void>;
};

export function startLoad({
  ingestUrl,
  senders,
  keep,
}: {
  ingestUrl: string;
  senders: readonly Sender[];
  keep: number;
}): Load {
  const pool = new Pool(ingestUrl, { connections });
  const random: Random = seeded(19);
  const mixers = senders.map(() => createMixer(random));
  const accepted: Load["accepted"] = {
    routed: 0,
    unrouted: 0,
    rejected: 0,
    garbage: 0,
    duplicate: 0,
  };
  const book: Map<string, Exclude<Kind, "garbage" | "duplicate">> = new Map();
  const problems: string[] = [];
  const underWay = new Set<Promise<void>>();

  async function request(
    at: number,
    path: string,
    body: unknown,
    items: readonly Mixed[],
  ): Promise<void> {
    const sender = senders[at];
    const mixer = mixers[at];
    if (sender === undefined || mixer === undefined) throw new Error(`there is no sender ${at}`);
    const headers = {
      authorization: `Basic ${btoa(`${sender.writeKey}:`)}`,
      "content-type": "application/json",
    };
    const answer = await pool.request({
      path,
      method: "POST",
      headers,
      body: JSON.stringify(body),
    });
    const text = await answer.body.text();
    const isRefused =
      path !== "/v1/batch" &&
      sender.mode === "explain" &&
      items.some(({ kind }) => kind === "rejected");
    if (answer.statusCode !== (isRefused ? 400 : 200))
      problems.push(`${path}: ${answer.statusCode} ${text.slice(0, 300)}`);
    for (const { kind, messageId, message } of items) {
      accepted[kind] += 1;
      if (kind === "garbage" || kind === "duplicate") continue;
      book.set(messageId, kind);
      if (kind === "routed") mixer.accepted(messageId, message);
    }
    for (const id of book.keys()) {
      if (book.size <= keep) break;
      book.delete(id);
    }
  }

  function start(run: Promise<void>): void {
    const all = run
      .catch((error: unknown) => void problems.push(String(error)))
      .finally(() => underWay.delete(all));
    underWay.add(all);
  }

  function turn(): void {
    const at = Math.floor(random() * senders.length);
    const mixer = mixers[at];
    if (mixer === undefined) return;
    const batch = Array.from({ length: batchOfTurn }, () => mixer.next());
    start(request(at, "/v1/batch", { batch: batch.map(({ message }) => message) }, batch));
    for (let single = 0; single < singlesOfTurn; single += 1) {
      let mixed = mixer.next();
      // A call whose body is no object is refused as a whole, and no message.
      while (mixed.kind === "garbage") mixed = mixer.next();
      const { type } = mixed.message as { type: string };
      start(request(at, `/v1/${type}`, mixed.message, [mixed]));
    }
  }

  const startedAt = performance.now();
  let done = 0;
  const timer = setInterval(() => {
    const due = ((performance.now() - startedAt) * turns) / 1000;
    while (done < due && underWay.size < connections * 4) {
      done += 1;
      turn();
    }
  }, 1000 / turns);

  return {
    accepted,
    book,
    problems,
    async stop() {
      clearInterval(timer);
      await Promise.all(underWay);
      await pool.close();
    },
  };
}
