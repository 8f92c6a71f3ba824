/**
 * The store on SQLite: one database, one writer, this process. `app.ts` opens it; the engine knows
 * it by the roles of `ports.ts`.
 */

import type { Store } from "../engine/store-ports.ts";
import { Checkpoints } from "./checkpoints.ts";
import { seeing } from "./claims.ts";
import { createClockStore } from "./configuration-store.ts";
import { createComputedStore } from "./computed-store.ts";
import { createConfigurationStore } from "./configuration-store.ts";
import { Counts } from "./counts.ts";
import { createDeletionStore } from "./deletion-store.ts";
import { createDeliveryQueries } from "./delivery-queries.ts";
import { createDeliveryStore } from "./delivery-store.ts";
import { createIngestStore } from "./ingest-store.ts";
import { guarded } from "./health.ts";
import { LastSeen } from "./last-seen.ts";
import { MappedRequests } from "./mapped-requests.ts";
import { MessageFacts } from "./message-facts.ts";
import { createMessageQueries } from "./message-queries.ts";
import { createMessageValues } from "./message-values.ts";
import { openDatabase, openErrorOf } from "./open.ts";
import type { OpenedDatabase } from "./open.ts";
import { Postings } from "./postings.ts";
import { createProfileQueries } from "./profile-queries.ts";
import { createProfileStore } from "./profile-store.ts";
import { RequestBodies } from "./request-bodies.ts";
import { createRuleStore } from "./rule-store.ts";
import { createSeenNames } from "./seen-names.ts";
import { createTraceQueries } from "./trace-queries.ts";
import { Transactions } from "./transactions.ts";
import { createUpkeepStore } from "./upkeep-store.ts";

/**
 * `data` is a directory, or `:memory:`. `inThread`: checkpoints do not block the event loop. Throws
 * an `OpenError` with a sentence.
 */
export function openStore(data: string, inThread = false): Store {
  const opened = openDatabase(data);
  try {
    return createStore(opened, inThread);
  } catch (error) {
    opened.close();
    throw openErrorOf(error, data);
  }
}

export function createStore({ db, health, close }: OpenedDatabase, inThread = false): Store {
  const checkpoints = inThread && !db.memory ? new Checkpoints(db) : null;
  const transactions = new Transactions(db, checkpoints);
  const facts = new MessageFacts(db, transactions);
  const counts = new Counts(db, facts, transactions);
  const postings = new Postings(db, transactions);
  const configuration = createConfigurationStore(db, transactions);
  db.pragma(`synchronous = ${configuration.settings().synchronous}`);
  const mapped = new MappedRequests(db);
  const bodies = new RequestBodies(db, transactions);
  const lastSeen = new LastSeen(db, transactions);
  const { seeClaims, ...deliveries } = createDeliveryStore(
    db,
    counts,
    transactions,
    mapped,
    bodies,
    health,
  );
  const { stateOfMessages, ...deletions } = createDeletionStore(db);
  const store = {
    ...configuration,
    ...createClockStore(db),
    ...createIngestStore({ db, bodies, mapped, counts, postings, transactions }),
    ...deliveries,
    ...createComputedStore(db),
    ...createProfileStore({ db, bodies, lastSeen, transactions }),
    ...createProfileQueries(db, lastSeen),
    ...createSeenNames(db, transactions),
    ...createRuleStore(db),
    ...deletions,
    // To retention, a delivery that is queued and one that is being sent are the same.
    ...createUpkeepStore({ db, bodies, mapped, counts, postings, transactions, health }),
    // They read states of deliveries and messages. Nothing that runs with each commit or each
    // recording may be among them.
    ...seeing(seeClaims, {
      ...createMessageQueries({ db, mapped, postings, facts }),
      ...createMessageValues({ db, postings, facts }),
      ...createDeliveryQueries(db, mapped),
      stateOfMessages,
    }),
    ...createTraceQueries(db),
    inWritingTurn: checkpoints?.inWritingTurn ?? setImmediate,
    atomically: <Result>(write: () => Result): Result => transactions.run(write),
  };
  return {
    ...guarded(store, health),
    ...health.role,
    close() {
      checkpoints?.end();
      close();
    },
  };
}
