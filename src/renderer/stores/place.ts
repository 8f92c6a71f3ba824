/**
 * Where the user is: a view, what is open in it, and how it is filtered. It lives in the address,
 * so that a reload, a bookmark and the back button all keep the place. It has the secrets that a
 * view hides while somebody presents: later, a mask would mean nobody.
 */

import { create } from "zustand";
import { leaveFields } from "../kit/commit-field.tsx";
import { typeAhead } from "../kit/focus.ts";
import { unmasked } from "../transport/secrets.ts";

const views = [
  "live",
  "flow",
  "retries",
  "sources",
  "destinations",
  "endpoints",
  "clients",
  "profiles",
  "audiences",
  "deletions",
  "scenarios",
  "receivers",
  "settings",
  "stage",
] as const;
export type View = (typeof views)[number];

export type Place = {
  view: View;
  /** What is open, as the view spells it: an id, or an id and what is open in it. */ path: string[];
  query: Record<string, string>;
};

type PlaceStore = Place & {
  /** A new entry for the back button. */
  go(place: Partial<Place> & { view: View }): void;
  /** The same place, seen differently. */
  change(changes: { path?: string[]; query?: Record<string, string | null> }): void;
};

function placeOf(hash: string): Place {
  const [path = "", search = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  const [first = "", ...rest] = path.split("/").map(decoded);
  const view = views.find((each) => each === first) ?? "live";
  return {
    view,
    path: rest.filter((part) => part !== ""),
    query: Object.fromEntries(new URLSearchParams(search)),
  };
}

/** A cut bookmark is no reason to show nothing. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export function hashOf(place: Place): string {
  const { view, path, query } = unmasked(place);
  const search = new URLSearchParams(query).toString();
  return `#/${[view, ...path].map(encodeURIComponent).join("/")}${search === "" ? "" : `?${search}`}`;
}

/** The address of what is open in a view, without a filter. */
export const hrefTo = (view: View, ...path: string[]): string => hashOf({ view, path, query: {} });

/** Of a list: what the address names, else the first; undefined when there is none of that id. */
export function openOf<Item extends { id: string }>(
  items: readonly Item[],
  openId: string | undefined,
): Item | undefined {
  return openId === undefined ? items[0] : items.find(({ id }) => id === openId);
}

export const usePlace = create<PlaceStore>()((set, get) => ({
  ...placeOf(window.location.hash),
  go({ view, path = [], query = {} }) {
    const place = unmasked({ view, path, query });
    window.history.pushState(null, "", hashOf(place));
    set(place);
  },
  change({ path, query = {} }) {
    const merged = Object.entries({ ...get().query, ...query }).filter(
      (entry): entry is [string, string] => entry[1] !== null,
    );
    const place = unmasked({
      view: get().view,
      path: path ?? get().path,
      query: Object.fromEntries(merged),
    });
    window.history.replaceState(null, "", hashOf(place));
    set(place);
  },
}));

/** Who has gone elsewhere or filters before the answer stays there, and so does one that gets null. */
export async function goOnceAnswered<Answer>(
  asked: Promise<Answer>,
  placeOf: (answer: Answer) => Parameters<PlaceStore["go"]>[0] | null,
): Promise<void> {
  const before = hashOf(usePlace.getState());
  const place = placeOf(await asked);
  const { go, ...now } = usePlace.getState();
  if (place !== null && hashOf(now) === before) go(place);
}

/** Opens what is created, with its name to be typed over. What is typed meanwhile is its name. */
export async function openToName(
  view: View,
  created: Promise<{ id: string }>,
  query: Record<string, string> = {},
): Promise<void> {
  const stop = typeAhead();
  let isOpen = false;
  try {
    await goOnceAnswered(created, ({ id }) => ({
      view,
      path: [id],
      query: { name: "edit", ...query },
    }));
    isOpen = usePlace.getState().path[0] === (await created).id;
  } finally {
    if (!isOpen) stop();
  }
}

function arrive(): void {
  leaveFields();
  usePlace.setState(placeOf(window.location.hash));
}

window.addEventListener("popstate", arrive);
window.addEventListener("hashchange", arrive);
// Another tab is shown, or the page goes.
window.addEventListener("visibilitychange", leaveFields);
