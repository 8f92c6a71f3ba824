import { deliveryStates } from "./states.ts";

/** A deletion request follows its deliveries; without any it has a state of its own. */
export const deletionStates = [...deliveryStates, "nothing_to_send"] as const;
export type DeletionState = (typeof deletionStates)[number];
