/** The check `types`: each of the seven types is accepted, and takes effect. */

import type { JsonObject } from "../domain/json.ts";
import type { Effects } from "../receiver/effects.ts";
import { isAccepted } from "../receiver/request.ts";
import { orderCompleted } from "./message-model.ts";
import { briefOf, did, fail, pass, type Outcome } from "./outcome.ts";
import type { Probe, Recorded } from "./probe.ts";

const types = ["identify", "track", "page", "screen", "group", "delete", "alias"] as const;
type Type = (typeof types)[number];

/** A check says the same whichever answer comes first. */
const inOrder = <Of extends { type: Type }>(list: readonly Of[]): Of[] =>
  list.toSorted((one, other) => types.indexOf(one.type) - types.indexOf(other.type));

/** `previous` is the token of the user that an alias renames. */
function messageOf(probe: Probe, type: Type, token: string, previous = token): string {
  const timestamp = probe.time();
  const userId = probe.receiver.model.userIdOf(token);
  const head = { version: 1, type, messageId: `chk-${token}`, timestamp };
  const members: Record<Exclude<Type, "track">, JsonObject> = {
    identify: {
      ...head,
      userId,
      traits: { token, email: `${token}@example.com` },
      context: {},
    },
    page: {
      ...head,
      userId,
      name: "Checkout",
      category: "Shop",
      properties: { token },
      context: {},
    },
    screen: { ...head, userId, name: "Cart", properties: { token }, context: {} },
    group: {
      ...head,
      userId,
      traits: { token, name: "Analysts" },
      groupId: `group-${token}`,
      context: {},
    },
    alias: {
      ...head,
      "Previous ID": probe.receiver.model.userIdOf(previous),
      "User ID": userId,
      context: {},
    },
    delete: { type, userId, timestamp },
  };
  return type === "track"
    ? orderCompleted.write(token, timestamp, { userId })
    : JSON.stringify(members[type]);
}

export async function checkTypes(probe: Probe): Promise<Outcome> {
  const allRefused: Refused[] = [];
  const accepted: { type: Type; token: string }[] = [];
  const known = new Map<string, string>();
  // A receiver that expects one message of its own need not use the others.
  const { model } = probe.receiver;
  const isUsed = (type: Type): boolean => !model.isOfUser || type === model.type;
  const send = async (type: Type, token: string, previous?: string): Promise<void> => {
    const body =
      type === model.type ? probe.message(token) : messageOf(probe, type, token, previous);
    const sent = await probe.deliver(body);
    if (isAccepted(sent)) accepted.push({ type, token });
    else allRefused.push({ type, sent });
  };
  // Two, because a deletion has no messageId: a receiver that remembers its absence drops the
  // second.
  const deleted = [probe.token(), probe.token()];
  const renamed = probe.token();
  const sendAboutKnownUsers = async (): Promise<void> => {
    // There has to be somebody to delete, or to rename.
    const users = [...deleted, renamed];
    for (const token of users) await probe.deliver(messageOf(probe, "identify", token));
    if (probe.hasEffects && isUsed("delete"))
      for (const [token, { found }] of await probe.effects(users))
        known.set(token, found.join("\n"));
    for (const token of deleted) await send("delete", token);
    await send("alias", probe.token(), renamed);
  };
  const sendOthers = async (list: readonly Type[]): Promise<void> => {
    for (const type of list) await send(type, probe.token());
  };
  await probe.inLanes(
    3,
    [
      sendAboutKnownUsers,
      () => sendOthers(["identify", "track", "page"]),
      () => sendOthers(["screen", "group"]),
    ],
    (sendSome) => sendSome(),
  );
  const refused = inOrder(allRefused);
  const used = inOrder(accepted).filter(({ type }) => isUsed(type));
  const ignored = probe.hasEffects ? await withoutEffect(probe, used, known) : [];
  if (refused.length > 0)
    return fail(
      refused.map(({ type, sent }) => `${type}: ${briefOf(sent)}`).join(", "),
      `The receiver does not accept every type of message: ${answersTo(refused)}. Webhooks get all seven. A type that it has no use for is best answered 200.`,
    );
  if (ignored.length > 0)
    return fail(
      `${ignored.join(", ")} without effect`,
      `The receiver answered 2xx to ${ignored.join(", ")}, but the effects do not show this. A message answered 2xx is not sent again, so it is lost.`,
    );
  return pass("all seven");
}

type Refused = { type: Type; sent: Recorded };

/** `it answered 422 to delete, alias; it answered 500 to group`. */
function answersTo(refused: readonly Refused[]): string {
  const typesOf = Map.groupBy(refused, ({ sent }) => did(sent));
  const parts = [...typesOf].map(
    ([answer, of]) => `it ${answer} to ${[...new Set(of.map(({ type }) => type))].join(", ")}`,
  );
  return parts.join("; ");
}

async function withoutEffect(
  probe: Probe,
  accepted: readonly { type: Type; token: string }[],
  known: ReadonlyMap<string, string>,
): Promise<string[]> {
  const others = accepted.filter(({ type }) => type !== "delete");
  const effects = await probe.effects(others.map(({ token }) => token));
  const ignored = others
    .filter(({ token }) => (effects.get(token)?.count ?? 0) === 0)
    .map(({ type }) => type);
  // The effect of a deletion is a line more, or the user's lines gone.
  const deletions = accepted.filter(({ type }) => type === "delete");
  const isChanged = ([token, { found }]: [string, Effects]): boolean =>
    found.join("\n") !== known.get(token);
  const after = await probe.effects(
    deletions.map(({ token }) => token),
    (effects) => [...effects].every(isChanged),
  );
  const kept = [...after].filter((one) => !isChanged(one));
  // Their users were identified before.
  for (const token of known.keys()) probe.found.delete(token);
  return kept.length === 0
    ? ignored
    : [...ignored, kept.length === deletions.length ? "delete" : "the second of two deletes"];
}
