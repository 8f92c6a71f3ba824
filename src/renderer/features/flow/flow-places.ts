/** Where the lines and the nodes of the map lead. */

import { hashOf, hrefTo } from "../../stores/place.ts";
import type { FlowLine, Origin } from "./flow-model.ts";

export const destinationHref = (id: string): string => hrefTo("destinations", id);

export function originHref({ kind, ownerId }: Origin): string {
  if (kind === "audience") return hrefTo("audiences", ownerId);
  return kind === "trait" ? hrefTo("audiences", "traits", ownerId) : hrefTo("sources", ownerId);
}

/** The messages of a line, in Live. */
export function lineHref({ unit, from, to }: FlowLine): string {
  const query: Record<string, string> =
    unit === "attempt" ? { webhook: to } : { source: from, destination: to };
  return hashOf({ view: "live", path: [], query });
}
