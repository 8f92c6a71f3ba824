import type { AudiencesClaim } from "../file/expectation-schema.ts";
import { isWithin, rangeText } from "../file/matcher.ts";
import { membersOf, type SeenAudience } from "../run/audience-history.ts";
import { isOneOf } from "./choice.ts";
import { wrong, type Kind, type Wrong } from "./kind.ts";

/** Of a large audience the first few say enough. */
const mostShown = 5;

export const audiences: Kind<AudiencesClaim, SeenAudience> = {
  nouns: ["audience", "audiences"],
  total: (history) => history.audiences.length,
  chosen: (history, { of }) => history.audiences.filter(({ name }) => isOneOf(of?.name, name)),
  wrongWith(audience, { size, entered, left, in: inside = [], notIn: outside = [] }) {
    const members = membersOf(audience);
    const times = (change: "in" | "out"): number => audience.told.filter((told) => told.change === change).length;
    const counts = [
      ["size", size, members.size],
      ["entered", entered, times("in")],
      ["left", left, times("out")],
    ] as const;
    return [
      ...counts.flatMap(([what, range, count]): Wrong[] =>
        range === undefined || isWithin(count, range) ? [] : wrong(what, rangeText(range), String(count)),
      ),
      ...[inside].flat().flatMap((userId) => (members.has(userId) ? [] : wrong("members", `with ${userId}`, listed(members)))),
      ...[outside].flat().flatMap((userId) => (members.has(userId) ? wrong("members", `without ${userId}`, listed(members)) : [])),
    ];
  },
  countOf: () => 1,
  label: ({ name }) => `the audience ${name}`,
  behind: ({ name }, { deliveries }) => deliveries.filter(({ message }) => message.source === name).flatMap(({ attempts }) => attempts),
  idOf: ({ name }) => name,
  versionOf: ({ told }) => told.length,
};

function listed(members: ReadonlySet<string>): string {
  const first = [...members].toSorted().slice(0, mostShown).join(", ");
  return members.size === 0 ? "nobody" : `${first}${members.size > mostShown ? `, and ${members.size - mostShown} more` : ""}`;
}
