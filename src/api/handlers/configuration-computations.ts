/**
 * Audiences and computed traits in the configuration's document: known by their keys, with their
 * destinations' names.
 */

import type { ConfigurationDocument } from "../../contract/configuration.ts";
import type { DestinationId } from "../../domain/ids.ts";
import { invalid, isProblem, type Problem } from "../../domain/problem.ts";
import { snakeCase } from "../../domain/snake-case.ts";
import type { Configuration, Pipeline } from "../../engine/pipeline.ts";

type Exported = Pick<ConfigurationDocument, "audiences" | "computedTraits">;

export function exportComputations({
  configuration,
  audiences,
  computedTraits,
}: Pipeline): Exported {
  const names = new Map(configuration.destinations().map(({ id, name }) => [id, name]));
  const common = ({
    name,
    key,
    sync,
    destinationIds,
  }:
    | ReturnType<typeof audiences.list>[number]
    | ReturnType<typeof computedTraits.list>[number]) => ({
    name,
    key,
    sync,
    destinations: destinationIds.flatMap((id) => names.get(id) ?? []),
  });
  return {
    audiences: audiences.list().map((audience) => ({
      ...common(audience),
      ...(audience.rule === null ? { members: audience.members ?? [] } : { rule: audience.rule }),
    })),
    computedTraits: computedTraits
      .list()
      .map((trait) => ({ ...common(trait), computation: trait.computation })),
  };
}

export const keyOf = ({ name, key }: { name: string; key?: string | undefined }): string =>
  key ?? snakeCase(name);

export function audienceEntries(
  { configuration, audiences }: Pipeline,
  { audiences: drafts = [] }: ConfigurationDocument,
) {
  return drafts.map(({ destinations, ...draft }, index) => {
    const existing = audiences.list().find(({ key }) => key === keyOf(draft));
    const apply = async () => {
      const to = destinationsNamed(configuration, destinations);
      if (isProblem(to)) return to;
      const { key: _, ...changes } = { ...draft, ...to };
      return existing === undefined
        ? audiences.create({ ...changes, key: keyOf(draft) })
        : audiences.update(existing.id, changes);
    };
    const size = draft.members?.length ?? 0;
    return { what: `audiences[${index}]`, exists: existing !== undefined, size, apply };
  });
}

export function computedTraitEntries(
  { configuration, computedTraits }: Pipeline,
  { computedTraits: drafts = [] }: ConfigurationDocument,
) {
  return drafts.map(({ destinations, ...draft }, index) => {
    const existing = computedTraits.list().find(({ key }) => key === keyOf(draft));
    const apply = async () => {
      const to = destinationsNamed(configuration, destinations);
      if (isProblem(to)) return to;
      const { key: _, ...changes } = { ...draft, ...to };
      return existing === undefined
        ? computedTraits.create({ ...changes, key: keyOf(draft) })
        : computedTraits.update(existing.id, changes);
    };
    return { what: `computedTraits[${index}]`, exists: existing !== undefined, apply };
  });
}

function destinationsNamed(
  configuration: Configuration,
  names: readonly string[] | undefined,
): { destinationIds?: DestinationId[] } | Problem {
  if (names === undefined) return {};
  const ids: DestinationId[] = [];
  for (const name of names) {
    const found = configuration.destinations().find((destination) => destination.name === name);
    if (found === undefined) return invalid(`no destination has the name ${name}.`);
    ids.push(found.id);
  }
  return { destinationIds: ids };
}
