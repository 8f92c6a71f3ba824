/** Where a message and an attempt of it are shown; the filters of the list stay. */

import type { Filter } from "../../../domain/message-filter.ts";
import { hashOf, type Place, usePlace } from "../../stores/place.ts";
import { queryOf } from "../live/filter-text.ts";

export type DetailsTab = "payload" | "raw" | "attempts" | "signature";

export function messageHref(id: string, tab?: DetailsTab): string {
  const { query } = usePlace.getState();
  return hashOf({ view: "live", path: [id], query: tab === undefined ? query : { ...query, tab } });
}

export function attemptHref(messageId: string, attemptId: string): string {
  const { tab: _, ...query } = usePlace.getState().query;
  return hashOf({ view: "live", path: [messageId, "attempts", attemptId], query });
}

/** Where an attempt is compared with one that was answered differently. */
export const whatIfHref = (messageId: string, attemptId: string, answer?: string): string =>
  hashOf(whatIfPlace(messageId, attemptId, answer));

export function whatIfPlace(messageId: string, attemptId: string, answer?: string): Place {
  const { tab: _, answer: __, ...query } = usePlace.getState().query;
  return {
    view: "live",
    path: [messageId, "attempts", attemptId, "what-if"],
    query: answer === undefined ? query : { ...query, answer },
  };
}

export function goTo(href: string): void {
  window.location.hash = href;
}

/** The address of Live with a filter. */
export function filterHref(filter: Filter): string {
  const members = Object.entries(queryOf(filter)).filter(
    (entry): entry is [string, string] => entry[1] !== null,
  );
  return hashOf({ view: "live", path: [], query: Object.fromEntries(members) });
}
