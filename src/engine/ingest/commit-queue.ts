/** Requests that arrive together share a commit: what came in one turn of the event loop is one transaction. */

import type { Activity, Origin, Work } from "../clock/activity.ts";
import type { CommittedMessage, IncomingRequest, IngestStore } from "../ports.ts";
import { storeFailure } from "../store-failure.ts";

/** Messages of one transaction: as much as keeps the event loop free for others within some 20 ms. */
const maxMessages = 2000;

type Waiting = {
  request: IncomingRequest;
  resolve: (committed: CommittedMessage[]) => void;
  reject: (error: unknown) => void;
};

export class CommitQueue {
  readonly #store: Pick<IngestStore, "commit">;
  readonly #activity: Activity;
  readonly #onCommitted: (committed: CommittedMessage[][], origin: Origin) => void;
  #waiting: Waiting[] = [];
  #work: Work | null = null;
  #newest: Promise<unknown> | null = null;

  constructor(options: {
    store: Pick<IngestStore, "commit">;
    activity: Activity;
    onCommitted: (committed: CommittedMessage[][], origin: Origin) => void;
  }) {
    this.#store = options.store;
    this.#activity = options.activity;
    this.#onCommitted = options.onCommitted;
  }

  /** Resolves when the request's messages are committed; rejects with the store's error when they are not. */
  add(request: IncomingRequest): Promise<CommittedMessage[]> {
    const committed = new Promise<CommittedMessage[]>((resolve, reject) => {
      this.#waiting.push({ request, resolve, reject });
      this.#schedule();
    });
    this.#newest = committed;
    return committed;
  }

  /** Resolves when what waits now does so no more: the queue is taken in order. */
  async drained(): Promise<void> {
    await this.#newest?.catch(() => {});
  }

  #schedule(): void {
    if (this.#work !== null || this.#waiting.length === 0) return;
    this.#work = this.#activity.begin(this.#activity.ingestOrigin);
    setImmediate(() => {
      this.#flush();
      this.#work?.end();
      this.#work = null;
      this.#schedule();
    });
  }

  #flush(): void {
    let messages = 0;
    let taken = 0;
    for (const { request } of this.#waiting) {
      if (taken > 0 && messages + request.messages.length > maxMessages) break;
      messages += request.messages.length;
      taken += 1;
    }
    this.#commit(this.#waiting.splice(0, taken));
  }

  #commit(group: Waiting[]): void {
    let committed: CommittedMessage[][];
    try {
      committed = this.#store.commit(group.map(({ request }) => request));
    } catch (error) {
      // One request that cannot be committed must not cost those that came with it.
      if (group.length > 1 && storeFailure(error) === null) for (const each of group) this.#commit([each]);
      else for (const { reject } of group) reject(error);
      return;
    }
    this.#onCommitted(committed, this.#work?.origin === "own" ? "own" : this.#activity.ingestOrigin);
    for (const [place, { resolve }] of group.entries()) resolve(committed[place] ?? []);
  }
}
