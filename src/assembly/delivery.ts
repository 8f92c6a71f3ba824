/** From a queued delivery to its attempts on record. */

import { createDeliveries } from "../engine/deliver/deliveries.ts";
import { DeliveryScheduler } from "../engine/deliver/delivery-scheduler.ts";
import { createTrust } from "../engine/deliver/dial.ts";
import { createAuthority } from "../engine/endpoints/authority.ts";
import type { Core } from "./core.ts";

export function createDelivery(core: Core, { dataDir }: { dataDir: string | null }) {
  const { signals, advanceWork } = core;
  const authority = createAuthority({ dataDir });
  const trust = createTrust({ localAuthority: () => authority.authorityPem() });
  const scheduler = new DeliveryScheduler({ ...core, trust, onAttempts: signals.attemptsRecorded.emit });
  const deliveries = createDeliveries({ ...core, kick: () => scheduler.kick() });

  advanceWork.isPending = () => scheduler.hasOwnWork();
  advanceWork.isWaiting = () => scheduler.hasOwnWaiting();
  advanceWork.attemptsMade = () => scheduler.attemptsMade;
  signals.overdue.on(() => scheduler.spreadOverdue());
  signals.configurationChanged.on(() => scheduler.kick());
  signals.destinationDeleted.on((id) => deliveries.cancelOf(id));
  signals.committed.on((messages, origin) => scheduler.onCommitted(messages, origin));
  return { authority, trust, scheduler, deliveries };
}
