/** What the handlers read from texts. */

import { invalid, notFound, type Problem } from "../domain/problem.ts";

type Spelling<Value> = { parse(text: string): Value | null };

/** What comes of the thing with that id. Whether it is there is for the engine to say. */
export function withId<Id, Answer>(ids: Spelling<Id>, what: string, text: string, act: (id: Id) => Answer): Answer | Problem {
  const id = ids.parse(text);
  return id === null ? notFound(what, text) : act(id);
}

/** Null for none: the list's beginning. */
export function cursorFrom<Place>(places: Spelling<Place>, text: string | undefined): Place | null | Problem {
  if (text === undefined) return null;
  return places.parse(text) ?? invalid(`cursor: ${text} is not a cursor of this list.`);
}

/** All of them, or what is said of the first that is none. */
export function idsFrom<Id>(ids: Spelling<Id>, texts: readonly string[], wrong: (text: string, index: number) => string): Id[] | Problem {
  const found: Id[] = [];
  for (const [index, text] of texts.entries()) {
    const id = ids.parse(text);
    if (id === null) return invalid(wrong(text, index));
    found.push(id);
  }
  return found;
}
