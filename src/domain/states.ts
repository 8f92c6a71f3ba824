/** The states and outcomes of the pipeline, in the order in which a message takes on the state of its deliveries. */

export const deliveryStates = ["sending", "queued", "waiting", "failed", "expired", "cancelled", "delivered"] as const;
export type DeliveryState = (typeof deliveryStates)[number];

export const messageStates = [...deliveryStates, "filtered", "duplicate", "rejected"] as const;
export type MessageState = (typeof messageStates)[number];

export const outcomes = ["success", "http_error", "timeout", "connection_error", "tls_error"] as const;
export type Outcome = (typeof outcomes)[number];

export const messageTypes = ["identify", "track", "page", "screen", "group", "alias", "delete"] as const;
export type MessageType = (typeof messageTypes)[number];

export const sourceKinds = ["web", "mobile", "server"] as const;
export type SourceKind = (typeof sourceKinds)[number];

/** A message has the first state, in the order above, that any of its deliveries is in. */
export function messageStateOf(states: readonly DeliveryState[]): MessageState {
  return deliveryStates.find((state) => states.includes(state)) ?? "filtered";
}

/** Deliveries that will not move again unless a user makes them. */
export function isSettled(state: DeliveryState): boolean {
  return state !== "sending" && state !== "queued" && state !== "waiting";
}
