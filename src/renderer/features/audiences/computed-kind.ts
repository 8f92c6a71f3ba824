/** What tells audiences and computed traits from each other while they are made or changed, and what their names become. */

import type { Sync } from "../../../domain/rules.ts";
import { snakeCase } from "../../../domain/snake-case.ts";
import type { UseDrafts } from "../../stores/drafts.ts";

export type Named = { id: string; name: string; key: string };

export type CommonDraft = { name: string; sync: Sync; destinationIds: string[] };

/** Of the one that does not exist yet. */
export const newId = "new";

export type ComputedKind<Saved extends Named, Draft extends CommonDraft> = {
  useDrafts: UseDrafts<Draft>;
  /** Before its id in the address. */
  path: readonly string[];
  empty(destinationIds: readonly string[]): Draft;
  draftOf(saved: Saved): Draft;
  changesOf(draft: Draft): object;
  /** What stops it from being asked about and made, apart from the name. */
  missingIn(draft: Draft): string | null;
  create(draft: Draft): Promise<{ id: string }>;
  update(id: string, draft: Draft): Promise<unknown>;
  remove(id: string): Promise<unknown>;
};

/** The trait that receivers get, and why it cannot be that. */
export function keyOf(name: string, ownId: string | null, others: readonly Named[]): { key: string; problem: string | null } {
  const key = snakeCase(name);
  if (name.trim() === "") return { key, problem: "It needs a name." };
  if (key === "") return { key, problem: "A name needs a letter or a digit, because its key is made of them." };
  const taken = others.find((other) => other.id !== ownId && other.key === key);
  return { key, problem: taken === undefined ? null : `The key ${key} is that of ${taken.name} already. Choose another name.` };
}
