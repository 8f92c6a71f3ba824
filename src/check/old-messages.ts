/** Checks of messages whose timestamp is long past. */

import { isAccepted, isRetried } from "../receiver/request.ts";
import { MessageModel } from "./message-model.ts";
import { briefOf, did, pass, skipped, times, warn, type Check, type Outcome } from "./outcome.ts";
import type { Probe, Recorded } from "./probe.ts";

const hour = 3_600_000;

const identifyOfPlan = new MessageModel(
  "identify",
  { traits: { token: "{{token}}", plan: "{{token}}" } },
  false,
);

async function checkOrder(probe: Probe): Promise<Outcome> {
  const [user, newer, older] = [probe.token(), probe.token(), probe.token()];
  const { model } = probe.receiver;
  const identifies = model.type === "identify" ? model : identifyOfPlan;
  const identify = (token: string, agoMs: number): string =>
    identifies.write(token, probe.time(agoMs), {
      userId: model.userIdOf(user),
      ...(identifies.hasPlaceInside ? {} : { inside: { token } }),
    });
  const soon = await probe.deliver(identify(newer, 0));
  if (!isAccepted(soon))
    return skipped(`The receiver ${did(soon)} to the newer of two identifies.`);
  await probe.effects([newer]);
  const late = await probe.deliver(identify(older, hour));
  if (!isAccepted(late))
    return skipped(`The receiver ${did(late)} to the older of two identifies, from an hour ago.`);
  // A receiver may do the work after its answer, so the older one gets its time.
  const effects = await probe.effects([older]);
  const shown = await probe.effects([newer, older], 0);
  const [hasNewer, hasOlder] = [
    (shown.get(newer)?.count ?? 0) > 0,
    (effects.get(older)?.count ?? 0) + (shown.get(older)?.count ?? 0) > 0,
  ];
  if (hasNewer && hasOlder)
    return skipped("The effects list both identifies, so they do not say which one counts.");
  if (!hasNewer && !hasOlder)
    return skipped(
      model.type === "identify"
        ? "The effects do not show the traits: write {{token}} in one that they show."
        : "The effects do not show traits.token.",
    );
  if (hasNewer) return pass("the newer one won");
  return warn(
    "the older one won",
    "Two identifies of one user arrived in the reverse order, and the older one replaced the newer one. Order is not promised: compare the timestamp before you overwrite.",
    "order",
  );
}

export const oldMessageChecks: Check[] = [
  {
    id: "order",
    title: "The newer identify wins",
    group: "Exactly once",
    needs: "effects",
    answers: "any",
    phase: "together",
    run: checkOrder,
  },
  {
    id: "replayed-late",
    title: "A copy of a message from four hours ago counts once",
    group: "Exactly once",
    needs: "effects",
    answers: "any",
    phase: "last",
    async run(probe) {
      const token = probe.token();
      const body = probe.message(token, { timestamp: probe.time(4 * hour) });
      const first = await probe.deliver(body);
      // Its copy may be refused, but not because of its age.
      const copy = await probe.deliver(body);
      const sent = isAccepted(copy) ? copy : first;
      // It came before all the others of this run, but for those whose user has another: a memory of
      // the last few hundred has lost it.
      const all = probe.receiver.sent;
      const isOnlyOf = ({ spec, tokens: its }: Recorded): boolean =>
        !all.some(
          ({ spec: { body: other } }) =>
            other !== spec.body && its.some((one) => other.includes(one)),
        );
      const early = all.find((one) => isAccepted(one) && isOnlyOf(one));
      const tokens = [token];
      if (early !== undefined) {
        tokens.push(...early.tokens);
        for (const one of early.tokens) probe.name(one);
        await probe.deliver(early.spec.body);
      }
      const effects = await probe.effects(tokens);
      const countOf = (one: string): number => effects.get(one)?.count ?? 0;
      const count = Math.max(...tokens.map(countOf));
      if (count > 1)
        return warn(
          `took effect ${times(count)}`,
          `A copy of ${countOf(token) > 1 ? "a message from four hours ago" : "one of the first messages of this run"} took effect again. A sender retries for four hours, so remember a messageId for longer than that.`,
          "idempotency",
        );
      if (isAccepted(sent) && countOf(token) === 1) return pass("one effect");
      // Its age may not be why: after the load, a receiver may be busy.
      const isAge =
        !isRetried(sent) || isAccepted(await probe.deliver(probe.message(probe.token())));
      if (!isAge) return skipped(`The receiver ${did(sent)} to old messages and to new ones.`);
      return warn(
        isAccepted(sent) ? "no effect" : briefOf(sent),
        `The receiver ${did(sent)} to a message from four hours ago${isAccepted(sent) ? ", and it took no effect" : ""}. A sender retries for four hours: do not refuse a message because of its timestamp.`,
      );
    },
  },
];
