import { cp } from "node:fs/promises";
import { expect, onTestFailed, onTestFinished, test } from "vitest";
import { drawUnit } from "../../src/domain/random.ts";
import { follow } from "../../src/engine/profiles/follow.ts";
import { openTestStore, tables, temporaryDirectory } from "../../src/store/store.fixture.ts";
import { call, startHookyard } from "./hookyard-process.ts";
import type { Addresses, HookyardProcess } from "./hookyard-process.ts";
import { startLoad } from "./load.ts";
import { readData } from "./on-disk.ts";

const kills = 6;
const writeKey = "key";

function start(data: string): HookyardProcess {
  const hookyard = startHookyard(data);
  onTestFinished(() => hookyard.kill("SIGKILL"));
  return hookyard;
}

async function whenReady(hookyard: HookyardProcess): Promise<Addresses> {
  const addresses = await hookyard.ready;
  if (addresses === null) throw new Error(`it did not start: ${(await hookyard.ended).errors}`);
  return addresses;
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Visitors who do something, sign in as one of a few users, and are joined now and then. */
function visit(made: number): Record<string, unknown> {
  const anonymousId = `visitor-${made % 40}`;
  const userId = `user-${made % 17}`;
  switch (made % 7) {
    case 0:
      return {
        type: "identify",
        anonymousId,
        userId,
        traits: { visits: made, plan: ["free", "pro"][made % 2] },
      };
    case 1:
      return made % 5 === 0
        ? { type: "alias", userId: `member-${made % 3}`, previousId: userId }
        : { type: "group", userId, groupId: `team-${made % 4}`, traits: { seats: made } };
    default:
      return {
        type: "track",
        ...(made % 2 === 0 ? { anonymousId } : { userId }),
        event: `Event ${made % 3}`,
        properties: { made },
      };
  }
}

const profileTables =
  /^(profiles|identities|profile_traits|profile_events|groups|profile_groups|profile_sources|profile_history|seen_names|sqlite_sequence|meta)$/;

test(`killed ${kills} times while profiles follow, each message counts in them exactly once`, async () => {
  const seed = Number(process.env["CRASH_SEED"] ?? Date.now() % 1_000_000);
  onTestFailed(() => console.log(`CRASH_SEED=${seed} draws the same moments again.`));
  const data = temporaryDirectory();
  const first = start(data);
  await call(await whenReady(first), "POST", "sources", { name: "Shop", writeKey });
  first.kill("SIGKILL");
  await first.ended;

  const accepted = new Set<string>();
  const reached: number[] = [];
  let behind = 0;
  for (let kill = 0; kill < kills; kill += 1) {
    const hookyard = start(data);
    const { ingestUrl } = await whenReady(hookyard);
    const load = startLoad({
      ingestUrl,
      writeKey,
      prefix: `life-${kill}`,
      accepted,
      members: visit,
    });
    // So that there is something to follow on any machine, a life ends by what was accepted in it.
    for (const goal = accepted.size + 60 + drawUnit(seed, kill, 1) * 150; accepted.size < goal;)
      await pause(1);
    hookyard.kill("SIGKILL");
    expect(await hookyard.ended).toMatchObject({ signal: "SIGKILL", errors: "" });
    await load.stop();
    const left = readData(data);
    left.expectSound();
    const { upTo, newest } = left.followed();
    reached.push(upTo);
    if (upTo < newest) behind += 1;
    left.close();
  }

  // It must have been killed on its way, and have gone on from where it was.
  expect(behind).toBeGreaterThan(0);
  expect(new Set(reached).size).toBeGreaterThan(kills / 2);

  const last = start(data);
  await call(await whenReady(last), "POST", "settle", { timeoutMs: 100_000 });
  last.kill("SIGTERM");
  expect(await last.ended).toEqual({ code: 0, signal: null, errors: "" });

  const copy = temporaryDirectory();
  await cp(data, copy, { recursive: true });
  const one = openTestStore(copy);
  const { upTo, newest } = one.store.followed();
  expect(upTo).toBe(newest);
  const profiles = () =>
    Object.fromEntries(Object.entries(tables(one)).filter(([name]) => profileTables.test(name)));
  const through = profiles();
  expect(through["profile_events"]?.length).toBeGreaterThan(200);
  for (const name of Object.keys(through))
    if (!/^(meta|sqlite_sequence)$/.test(name)) one.db.exec(`DELETE FROM ${name}`);
  one.db.exec(
    "DELETE FROM sqlite_sequence WHERE name = 'profiles'; UPDATE meta SET value = '0' WHERE key = 'followed'",
  );
  one.store.atomically(() =>
    follow({ store: one.store, limit: Number.MAX_SAFE_INTEGER, isTimeUp: () => false }),
  );
  expect(profiles()).toEqual(through);
});
