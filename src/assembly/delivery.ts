/** From a queued delivery to its attempts on record. */

import { createDeliveries } from "../engine/deliver/deliveries.ts";
import { Station } from "../engine/deliver/station.ts";
import { createTrust } from "../engine/deliver/dial.ts";
import { createAuthority } from "../engine/endpoints/authority.ts";
import type { Core } from "./core.ts";

export function createDelivery(core: Core, { dataDir }: { dataDir: string | null }) {
  const { signals, advanceWork } = core;
  const authority = createAuthority({ dataDir });
  const trust = createTrust({ localAuthority: () => authority.authorityPem() });
  const station = new Station({ ...core, trust, onAttempts: signals.attemptsRecorded.emit });
  const deliveries = createDeliveries({ ...core, kick: () => station.kick() });

  advanceWork.isPending = () => station.hasOwnWork();
  advanceWork.isWaiting = () => station.hasOwnWaiting();
  advanceWork.attemptsMade = () => station.attemptsMade;
  signals.overdue.on(() => station.spreadOverdue());
  signals.configurationChanged.on(() => station.kick());
  signals.destinationDeleted.on((id) => deliveries.cancelOf(id));
  signals.committed.on((messages, origin) => station.onCommitted(messages, origin));
  return { authority, trust, station, deliveries };
}
