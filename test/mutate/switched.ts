/**
 * A source file with all of its mutants in it, each behind a question whether it is the one that is
 * switched on.
 */

import { mutationsOf, type Place } from "./mutations.ts";

export function switched(path: string, source: string): string {
  const places = mutationsOf(path, source).places.toSorted(
    (a, b) => a.start - b.start || b.end - a.end || order[a.form] - order[b.form],
  );
  const firstLine = source.startsWith("#!") ? source.indexOf("\n") + 1 : 0;
  return `${source.slice(0, firstLine)}const mutated$ = globalThis.mutationSwitch(${JSON.stringify(path)});${render(firstLine, source.length, places)}`;

  /** The text between two places, with what is within it; `inside` is sorted, outer ones first. */
  function render(start: number, end: number, inside: readonly Place[]): string {
    let text = "";
    let at = start;
    for (let i = 0; i < inside.length;) {
      const place = inside[i] as Place;
      let after = i + 1;
      while (after < inside.length && (inside[after] as Place).start < place.end) after += 1;
      text +=
        source.slice(at, place.start) +
        choice(place, render(place.start, place.end, inside.slice(i + 1, after)));
      at = place.end;
      i = after;
    }
    return text + source.slice(at, end);
  }
}

const order: Record<Place["form"], number> = { statement: 0, expression: 1, entry: 2 };

function choice({ form, mutants }: Place, original: string): string {
  if (form === "entry") return mutants.map(({ n, code }) => `if(mutated$(${n})){${code}}`).join("");
  if (form === "statement")
    return `{${mutants.map(({ n }) => `if(mutated$(${n})){}else `).join("")}{${original}}}`;
  return `(${mutants.map(({ n, code }) => `mutated$(${n})?(${code}):`).join("")}(${original}))`;
}
