/** States, types and outcomes as the numbers that the tables hold: places in the domain's lists. */

import type { PayloadShape } from "../domain/configuration.ts";
import {
  deliveryStates,
  messageStates,
  messageTypes,
  outcomes,
  type DeliveryState,
  type MessageState,
  type MessageType,
  type Outcome,
} from "../domain/states.ts";

const unknownType = messageTypes.length;

export const stateCode = (state: MessageState): number => messageStates.indexOf(state);
export const messageStateAt = (code: number): MessageState => messageStates[code] as MessageState;
export const deliveryStateAt = (code: number): DeliveryState =>
  deliveryStates[code] as DeliveryState;

export const typeCode = (type: MessageType | null): number =>
  type === null ? unknownType : messageTypes.indexOf(type);
export const typeAt = (code: number): MessageType | null => messageTypes[code] ?? null;

export const outcomeCode = (outcome: Outcome): number => outcomes.indexOf(outcome);
export const outcomeAt = (code: number): Outcome => outcomes[code] as Outcome;

/** The columns of `payloads`, in the order of their shapes. */
export const shapeColumns: readonly PayloadShape[] = ["documented", "full"];
/** Of a delivery whose bytes a mapping made. */
export const mappedShape = shapeColumns.length;
export const shapeCode = (shape: PayloadShape): number => shapeColumns.indexOf(shape);
/** Of a delivery whose payload the filters of its destination changed. */
export const filteredShape = 3;
export const shapeAt = (code: number): PayloadShape => shapeColumns[code] as PayloadShape;
