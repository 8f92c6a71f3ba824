/**
 * The settings of the whole pipeline, and the switch that makes it like the hosted service. Some of
 * its pieces belong to each source or destination: a change of the setting is one of all of them.
 */

import type { Settings } from "../domain/configuration.ts";
import { destinationIds, sourceIds } from "../domain/ids.ts";
import { pieceChanges } from "../domain/parity.ts";
import { invalid, type Problem } from "../domain/problem.ts";
import { defaultProfile } from "../domain/retry.ts";
import { token } from "../domain/webhook-rules.ts";
import { defined, type ConfigurationMemory } from "./configuration-memory.ts";
import type { ConfigurationStore } from "./store-ports.ts";

/** Every quota has room for one request. */
const leastBytes = 1_000_000;

type SettingsOptions = { store: ConfigurationStore; memory: ConfigurationMemory };

export function updateSettings(
  { store, memory }: SettingsOptions,
  changes: Partial<Settings>,
): Settings | Problem {
  const before = memory.settings;
  const own = defined(changes);
  const updated: Settings = {
    ...before,
    ...(own.parity === undefined ? {} : pieceChanges(own.parity, before)),
    ...own,
  };
  if (!memory.isProfile(updated.retryProfile))
    return invalid(`There is no retry profile ${JSON.stringify(updated.retryProfile)}.`);
  if (!token.test(updated.vendor))
    return invalid("The vendor is a product token: letters, digits and -._ without spaces.");
  if (!Number.isSafeInteger(updated.seed)) return invalid("The seed is a whole number.");
  if (
    !Number.isInteger(updated.laneConnections) ||
    updated.laneConnections < 1 ||
    updated.laneConnections > 1024
  ) {
    return invalid("A webhook's lane has between 1 and 1024 connections.");
  }
  if (
    updated.maxMessages !== null &&
    (!Number.isInteger(updated.maxMessages) || updated.maxMessages < 1)
  ) {
    return invalid("The number of messages kept is at least 1, or null to keep all.");
  }
  if (updated.maxAgeMs !== null && !(updated.maxAgeMs > 0))
    return invalid("The maximum age of messages is more than 0, or null to keep all.");
  const { maxBytes, maxRejectedBytes, maxUnknownKeyBytes } = updated;
  if (
    [maxBytes ?? leastBytes, maxRejectedBytes, maxUnknownKeyBytes].some(
      (bytes) => !(bytes >= leastBytes),
    )
  ) {
    return invalid(
      `A limit in bytes is at least ${leastBytes}: one request may have half of that.`,
    );
  }
  const write = (): Settings => {
    store.saveSettings(updated);
    applyToAll({ store, memory }, before, updated, own.parity !== undefined);
    return updated;
  };
  memory.change("settings", () => null, write);
  store.setSynchronous(updated.synchronous);
  return updated;
}

/**
 * A source or destination with a value of its own keeps it on the way back from the hosted
 * service's.
 */
function applyToAll(
  { store, memory }: SettingsOptions,
  before: Settings,
  updated: Settings,
  isSwitched: boolean,
): void {
  const { parity, answers, correctClockSkew } = updated;
  const isForced = isSwitched && parity === "hosted";
  const follows = <Value>(value: Value, was: Value, now: Value): Value =>
    isForced || (was !== now && (!isSwitched || value === was)) ? now : value;
  for (const source of memory.sources) {
    if (source.kind === "audience") continue;
    const mode = follows(source.mode, before.answers, answers);
    const skew = follows(source.correctClockSkew, before.correctClockSkew, correctClockSkew);
    if (mode === source.mode && skew === source.correctClockSkew) continue;
    store.updateSource({ ...source, mode, correctClockSkew: skew });
    memory.note("sources", sourceIds.format(source.id));
  }
  for (const destination of memory.destinations) {
    const profile = follows(
      destination.retryProfile,
      defaultProfile(destination, before),
      defaultProfile(destination, updated),
    );
    if (profile === destination.retryProfile) continue;
    store.updateDestination({ ...destination, retryProfile: profile });
    memory.note("destinations", destinationIds.format(destination.id));
  }
}
