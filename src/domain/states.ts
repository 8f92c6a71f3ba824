/**
 * The states and outcomes of the pipeline, in the order in which a message has the state of its
 * deliveries.
 */

export const deliveryStates = [
  "sending",
  "queued",
  "waiting",
  "failed",
  "expired",
  "cancelled",
  "delivered",
] as const;
export type DeliveryState = (typeof deliveryStates)[number];

export const messageStates = [...deliveryStates, "filtered", "duplicate", "rejected"] as const;
export type MessageState = (typeof messageStates)[number];

/** Whether a message meets its source's tracking plan; `none` when it was not checked. */
export const planStates = ["ok", "violations", "none"] as const;
export type PlanState = (typeof planStates)[number];

export const outcomes = [
  "success",
  "http_error",
  "timeout",
  "connection_error",
  "tls_error",
] as const;
export type Outcome = (typeof outcomes)[number];

export const messageTypes = [
  "identify",
  "track",
  "page",
  "screen",
  "group",
  "alias",
  "delete",
] as const;
export type MessageType = (typeof messageTypes)[number];

/** The kinds that a user can give to a source. */
export const sourceKinds = ["web", "mobile", "server"] as const;
/**
 * A source of the kind `audience` is Hookyard's own: the messages of one audience or computed trait
 * come from it.
 */
export type SourceKind = (typeof sourceKinds)[number] | "audience";

/** Deliveries that will not move again unless a user makes them. */
export function isSettled(state: DeliveryState): boolean {
  return state !== "sending" && state !== "queued" && state !== "waiting";
}

/** A deletion request follows its deliveries; without any it has a state of its own. */
export const deletionStates = [...deliveryStates, "nothing_to_send"] as const;
export type DeletionState = (typeof deletionStates)[number];

/**
 * Why an audience or a computed trait sent a message.
 *
 * `first_sync`             the audience or trait is new
 * `sync`                   a sync manually or on a period found the difference
 * `event`                  a message changed the value
 * `time`                   an event left a window
 * `rule_changed`           the definition was changed
 * `members_changed`        the fixed list was changed
 * `destination_connected`  the destination was connected later
 * `destination_enabled`    the destination was disabled when the value changed
 * `new_identifier`         the user got another email address
 * `users_joined`           the user was joined to another one
 * `deletion`               a deletion request
 */
export const causeReasons = [
  "first_sync",
  "sync",
  "event",
  "time",
  "rule_changed",
  "members_changed",
  "destination_connected",
  "destination_enabled",
  "new_identifier",
  "users_joined",
  "deletion",
] as const;
export type CauseReason = (typeof causeReasons)[number];
