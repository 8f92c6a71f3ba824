/** The message by which receivers learn a user's value. */

import { drawUnit } from "../../domain/random.ts";
import type { Json } from "../../domain/json.ts";
import type { InternalMessage } from "../ingest/internal-messages.ts";
import type { Computed } from "./computed.ts";

export function identify({ kind, id, row }: Computed, userId: string, value: Json, space: string): InternalMessage {
  const personas = {
    computation_class: kind,
    computation_key: row.key,
    computation_id: id,
    namespace: space,
    space_id: space,
  };
  const told = kind === "audience" ? value === true : value;
  return { type: "identify", userId, traits: { [row.key]: told }, context: { personas } };
}

const letters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** Tells the draws of the space's id from all other draws of the same seed. */
const drawsOfSpace = 0x59;

export function spaceId(seed: number): string {
  const draw = (_: unknown, place: number): string => letters[Math.floor(drawUnit(seed, drawsOfSpace, place) * letters.length)] ?? "";
  return `spa_${Array.from({ length: 27 }, draw).join("")}`;
}
