/**
 * Requests that arrive together share a commit: those of one turn of the event loop are one
 * transaction. A request with too many rows for one turn is several.
 */

import type { Activity, Origin, Work } from "../clock/activity.ts";
import type { CommittedMessage, IngestStore } from "../ports.ts";
import type { WritingTurns } from "../profile-ports.ts";
import { nextTurn } from "../real-time.ts";
import { storeFailure } from "../store-failure.ts";
import type { AcceptedRequest } from "./accept.ts";
import { partsOf } from "./request-parts.ts";

/** Messages per transaction: few enough to free the event loop after some 20 ms. */
const maxMessages = 2000;
/**
 * Bytes per transaction, because large messages cost more: those of bodies, and those that a
 * batch's defaults add to its messages.
 */
const maxBytes = 4_000_000;

/**
 * Steps of routing per transaction, because each destination of a message takes time: some 80 ms.
 * A request with more is committed in parts, in turns between those of others.
 */
const maxWeight = 8000;

type Waiting = {
  request: AcceptedRequest;
  resolve: (committed: CommittedMessage[]) => void;
  reject: (error: unknown) => void;
};

/** Resolves after its request has been answered for. */
function ended(waiting: Waiting): Promise<void> {
  return new Promise((end) => {
    const { resolve, reject } = waiting;
    waiting.resolve = (committed) => {
      resolve(committed);
      end();
    };
    waiting.reject = (error) => {
      reject(error);
      end();
    };
  });
}

type CommitQueueOptions = {
  store: Pick<IngestStore, "commit"> & WritingTurns;
  activity: Activity;
  /** Called after each commit. Its errors are reported, and requests are answered all the same. */
  onCommitted: (committed: CommittedMessage[][], origin: Origin) => void;
  report: (error: unknown) => void;
};

export class CommitQueue {
  readonly #options: CommitQueueOptions;
  #waiting: Waiting[] = [];
  #work: Work | null = null;
  /** The last of the requests that are committed in parts, one after the other. */
  #lastInParts: Promise<unknown> = Promise.resolve();

  constructor(options: CommitQueueOptions) {
    this.#options = options;
  }

  /**
   * Resolves when the request's messages are committed; rejects with the store's error when they
   * are not. Of a request that is committed in parts, those before the error are.
   */
  add(request: AcceptedRequest): Promise<CommittedMessage[]> {
    if (request.weight > maxWeight) return this.#addInParts(request);
    return new Promise((resolve, reject) => {
      this.#waiting.push({ request, resolve, reject });
      this.#schedule();
    });
  }

  #addInParts(request: AcceptedRequest): Promise<CommittedMessage[]> {
    const { activity, store } = this.#options;
    const work = activity.begin(activity.ingestOrigin);
    const commit = async (): Promise<CommittedMessage[]> => {
      const all: CommittedMessage[] = [];
      try {
        for await (const { rest: _, ...part } of partsOf(request)) {
          await nextTurn();
          const committed = store.commit([part]);
          this.#notify(committed, work);
          for (const message of committed.flat()) all.push(message);
        }
        return all;
      } finally {
        work.end();
      }
    };
    const committed = this.#lastInParts.then(commit);
    this.#lastInParts = committed.catch(() => {});
    return committed;
  }

  /** Resolves when everything that waits now is committed or has failed. */
  async drained(): Promise<void> {
    const last = this.#waiting.at(-1);
    await Promise.all([last === undefined ? null : ended(last), this.#lastInParts]);
  }

  #schedule(): void {
    if (this.#work !== null || this.#waiting.length === 0) return;
    this.#work = this.#options.activity.begin(this.#options.activity.ingestOrigin);
    this.#options.store.inWritingTurn(() => {
      this.#flush();
      this.#work?.end();
      this.#work = null;
      this.#schedule();
    });
  }

  #flush(): void {
    let messages = 0;
    let bytes = 0;
    let weight = 0;
    let size = 0;
    for (const { request } of this.#waiting) {
      messages += request.messages.length;
      bytes += request.bytes;
      weight += request.weight;
      if (size > 0 && (messages > maxMessages || bytes > maxBytes || weight > maxWeight)) break;
      size += 1;
    }
    this.#commit(this.#waiting.splice(0, size));
  }

  #commit(group: Waiting[]): void {
    let committed: CommittedMessage[][];
    try {
      committed = this.#options.store.commit(group.map(({ request }) => request));
    } catch (error) {
      // A request that cannot be committed must not fail those that arrived with it.
      if (group.length > 1 && storeFailure(error) === null)
        for (const each of group) this.#commit([each]);
      else for (const { reject } of group) reject(error);
      return;
    }
    this.#notify(committed, this.#work);
    for (const [place, { resolve }] of group.entries()) resolve(committed[place] ?? []);
  }

  #notify(committed: CommittedMessage[][], work: Work | null): void {
    const { activity, onCommitted, report } = this.#options;
    try {
      onCommitted(committed, work?.origin === "own" ? "own" : activity.ingestOrigin);
    } catch (error) {
      report(error);
    }
  }
}
