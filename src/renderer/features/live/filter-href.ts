/** The address of Live with a filter. */

import { hashOf } from "../../stores/place.ts";
import { queryOf, type Filter } from "./filter-text.ts";

export function filterHref(filter: Filter): string {
  const members = Object.entries(queryOf(filter)).filter((entry): entry is [string, string] => entry[1] !== null);
  return hashOf({ view: "live", path: [], query: Object.fromEntries(members) });
}
