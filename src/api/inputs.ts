/** What the handlers read from texts. */

import { notFound, type Problem } from "../domain/problem.ts";

type Spelling<Value> = { parse(text: string): Value | null };

/** What comes of the thing with that id. Whether it is there is for the engine to say. */
export function withId<Id, Answer>(ids: Spelling<Id>, what: string, text: string, act: (id: Id) => Answer): Answer | Problem {
  const id = ids.parse(text);
  return id === null ? notFound(what, text) : act(id);
}
