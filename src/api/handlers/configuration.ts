import type { ConfigurationDocument } from "../../contract/configuration.ts";
import type { AboutAnswer } from "../../contract/pipeline.ts";
import {
  isEqual,
  leftOut,
  urlWithoutCredentials,
  withKnown,
  withoutCredentials,
} from "../../domain/credentials.ts";
import { wrongCondition } from "../../domain/destination-filter.ts";
import { invalid, isProblem, type Problem } from "../../domain/problem.ts";
import type { SourcePlan } from "../../domain/configuration.ts";
import type { Pipeline, SourceDraft } from "../../engine/pipeline.ts";
import { preparePlan, rulesOf } from "../../engine/plans/plans.ts";
import { nextTurn } from "../../engine/real-time.ts";
import type { HandlersOf } from "../../contract/contract.ts";
import {
  audienceEntries,
  computedTraitEntries,
  exportComputations,
  keyOf,
} from "./configuration-computations.ts";
import { destinationEntries, sourceNamed } from "./configuration-destinations.ts";
import { completeProfile } from "./setup.ts";
import { withOwnPorts, withoutOwnPorts } from "./own-ports.ts";

/** A pipeline of its own, in memory and never started, to try things on. */
export type Rehearsal = { pipeline: Pipeline; stop(): Promise<void> };

export function configurationHandlers(
  pipeline: Pipeline,
  rehearse: () => Rehearsal,
  about: () => AboutAnswer,
): HandlersOf<"configuration"> {
  async function importAll(given: ConfigurationDocument): Promise<Imported | Problem> {
    const { endpointsUrl } = about();
    const lists = given.audiences ?? [];
    // Checking them was a turn's work.
    if (lists.reduce((sum, { members = [] }) => sum + members.length, 0) > readPerTurn)
      await nextTurn();
    const document = withOwnPorts(given, about());
    const wrong = await rehearseImport({
      pipeline,
      rehearsal: rehearse(),
      document,
      endpointsUrl,
    });
    return wrong ?? importEntries({ pipeline, document, endpointsUrl });
  }

  /** One at a time, so that none sees another half done. */
  let last: Promise<unknown> = Promise.resolve();
  return {
    "configuration.export": ({ secrets }) =>
      withoutOwnPorts(exportConfiguration(pipeline, secrets), about()),
    "configuration.import": (given) => {
      const imported = last.then(() => importAll(given));
      last = imported.catch(() => undefined);
      return imported;
    },
  };
}

/** All or nothing: whatever is wrong in a document is found where it changes nothing. */
async function rehearseImport({
  pipeline,
  rehearsal,
  document,
  endpointsUrl,
}: Import & { rehearsal: Rehearsal }): Promise<Problem | null> {
  const here = { pipeline: rehearsal.pipeline, endpointsUrl };
  const present = exportConfiguration(pipeline, true);
  try {
    const copied = await importEntries({
      ...here,
      // Names may be there twice: a document means the first.
      document: {
        ...present,
        // A condition from before it was checked is no fault of the document.
        destinations: firstOfEachName(present.destinations).map(({ filters = [], ...one }) => ({
          ...one,
          filters: filters.filter((filter) => wrongCondition(filter.if ?? "") === null),
        })),
        clients: firstOfEachName(present.clients),
      },
    });
    if (isProblem(copied))
      return { ...copied, message: `The present configuration: ${copied.message}` };
    const imported = repeatedIn(document) ?? (await importEntries({ ...here, document }));
    return isProblem(imported) ? imported : null;
  } finally {
    await rehearsal.stop();
  }
}

function firstOfEachName<Thing extends { name: string }>(things: readonly Thing[] = []): Thing[] {
  const names = new Set<string>();
  return things.filter(({ name }) => names.size < names.add(name).size);
}

function exportConfiguration(pipeline: Pipeline, secrets: boolean): ConfigurationDocument {
  const { configuration, endpoints, faults, clients } = pipeline;
  const shown = (url: string): string => (secrets ? url : urlWithoutCredentials(url));
  const exported = configuration
    .sources()
    .flatMap(({ kind, ...source }) => (kind === "audience" ? [] : [{ ...source, kind }]));
  const writeKeys = new Map(exported.map((source) => [source.id, source.writeKey]));
  const { maxBytes, ...settings } = configuration.settings();
  return {
    version: 1,
    settings: maxBytes === configuration.defaultMaxBytes() ? settings : { ...settings, maxBytes },
    retryProfiles: configuration
      .retryProfiles()
      .filter((profile) => profile.id !== null)
      .map(({ id: _, ...profile }) => profile),
    sources: exported.map(({ id: _, createdAt: _at, ...source }) => ({
      ...source,
      plan: source.plan && exportedPlan(source.plan),
    })),
    endpoints: endpoints.list().map(({ name, path, steps, after, perMessage }) => ({
      ...{ name, path, after },
      ...(perMessage === true ? { perMessage } : {}),
      steps: steps.map((step) => (step.to === undefined ? step : { ...step, to: shown(step.to) })),
    })),
    destinations: configuration
      .destinations()
      .map(({ id: _, createdAt: _at, sourceIds, webhooks, mappings, sharedSecret, ...rest }) => ({
        ...rest,
        sources: sourceIds.flatMap((id) => writeKeys.get(id) ?? []),
        ...(mappings.length === 0
          ? {}
          : {
              mappings: mappings.map(({ id: _own, ...mapping }) =>
                secrets ? mapping : withoutCredentials(mapping),
              ),
            }),
        webhooks: (mappings.length === 0 ? webhooks : []).map(({ id, url, headers }) => {
          const endpoint = faults.behind(id);
          const behind = endpoint?.inFrontOf && {
            endpoint: endpoint.path,
            url: shown(endpoint.inFrontOf.url),
          };
          return {
            ...(secrets ? { url, headers } : withoutCredentials({ url, headers })),
            ...(behind ? { behind } : {}),
          };
        }),
        ...(secrets ? { sharedSecret } : sharedSecret === null ? {} : { sharedSecret: leftOut }),
      })),
    ...exportComputations(pipeline),
    clients: clients
      .list()
      .map(({ name, writeKey, wire, flushAt, flushAfter, endpoint, strict }) => ({
        name,
        writeKey,
        wire,
        flushAt,
        flushAfter,
        endpoint: secrets || endpoint === null ? endpoint : urlWithoutCredentials(endpoint),
        strict,
      })),
  };
}

/** In the form of the hosted service. */
function exportedPlan({ rules: _, ...plan }: SourcePlan) {
  const rules = rulesOf({ rules: _ }).map(({ type, key, version, schema }) => ({
    type: type.toUpperCase(),
    key,
    version,
    jsonSchema: schema,
  }));
  return { ...plan, schemas: { rules } };
}

/**
 * One thing of the document: what it would be in a sentence, how it is imported, and which left-out
 * values are not known here either.
 */
type Entry = {
  what: string;
  exists: boolean;
  missing?: string[];
  /** Of its list of members, if it has one. */
  size?: number;
  apply: () => unknown;
};

/**
 * Every change reads the configuration again: an import gives the event loop a turn after reading
 * this many sources, destinations, connections and members, some 30 ms. A small document never needs
 * one, and applies at once.
 */
const readPerTurn = 100_000;

/** What a change takes beside that. */
const stepsOfChange = 100;

const sizeOf = ({ configuration }: Pipeline): number =>
  configuration
    .destinations()
    .reduce((sum, { sourceIds }) => sum + 1 + sourceIds.length, configuration.sources().length);

type Imported = { created: number; updated: number; missing?: string[] };

type Import = { pipeline: Pipeline; document: ConfigurationDocument; endpointsUrl: string };

/** In the order in which things refer to each other. The first problem ends it. */
async function importEntries({
  pipeline,
  document,
  endpointsUrl,
}: Import): Promise<Imported | Problem> {
  const done: Imported = { created: 0, updated: 0 };
  type Entries = (
    pipeline: Pipeline,
    document: ConfigurationDocument,
    endpointsUrl: string,
  ) => Iterable<Entry>;
  const things: Entries[] = [
    ...[
      profileEntries,
      settingsEntries,
      sourceEntries,
      endpointEntries,
      destinationEntries,
      clientEntries,
    ],
    ...[audienceEntries, computedTraitEntries],
  ];
  let read = 0;
  for (const entries of things) {
    for (const entry of entries(pipeline, document, endpointsUrl)) {
      const { what, exists, missing = [], size = 0, apply } = entry;
      const answer = await apply();
      if (isProblem(answer)) return { ...answer, message: `${what}: ${answer.message}` };
      if (exists) done.updated += 1;
      else done.created += 1;
      if (missing.length > 0) (done.missing ??= []).push(...missing);
      read += stepsOfChange + size + sizeOf(pipeline);
      if (read < readPerTurn) continue;
      read = 0;
      await nextTurn();
    }
  }
  return done;
}

function repeatedIn(document: ConfigurationDocument): Problem | null {
  const { sources = [], endpoints = [] } = document;
  const lists: [string, string, (string | undefined)[]][] = [
    ["sources", "write key", sources.map((source) => source.writeKey)],
    ["sources", "name", namesIn(sources, (source) => source.writeKey)],
    ["retryProfiles", "name", (document.retryProfiles ?? []).map((profile) => profile.name)],
    ["endpoints", "path", endpoints.map((endpoint) => endpoint.path ?? endpoint.name)],
    ["endpoints", "name", namesIn(endpoints, (endpoint) => endpoint.path)],
    ["destinations", "name", (document.destinations ?? []).map((destination) => destination.name)],
    [
      "audiences and computedTraits",
      "key",
      [...(document.audiences ?? []), ...(document.computedTraits ?? [])].map(keyOf),
    ],
    ["clients", "name", (document.clients ?? []).map((client) => client.name)],
  ];
  for (const [name, member, keys] of lists) {
    const seen = new Set<string>();
    for (const key of keys) {
      if (key === undefined) continue;
      if (seen.has(key))
        return invalid(
          `${name}: ${key} appears twice. Leave one of them out, or give it another ${member}.`,
        );
      seen.add(key);
    }
  }
  return null;
}

/** Several may have one name when each has a key; without a key, the name says which one is meant. */
function namesIn<Thing extends { name: string }>(
  things: readonly Thing[],
  keyOfOne: (thing: Thing) => string | undefined,
): string[] {
  const keyed = things.filter((thing) => keyOfOne(thing) !== undefined);
  const others = things.filter((thing) => keyOfOne(thing) === undefined);
  return [...new Set(keyed.map(({ name }) => name)), ...others.map(({ name }) => name)];
}

function settingsEntries(
  { configuration }: Pipeline,
  { settings }: ConfigurationDocument,
): Entry[] {
  if (settings === undefined) return [];
  const { parity, ...others } = settings;
  // The switch would reset the sources and destinations that have a value of their own.
  const changes = parity === configuration.settings().parity ? others : settings;
  return [{ what: "settings", exists: true, apply: () => configuration.updateSettings(changes) }];
}

function profileEntries(
  { configuration }: Pipeline,
  { retryProfiles = [] }: ConfigurationDocument,
): Entry[] {
  return retryProfiles.map((draft, index) => {
    const existing =
      configuration.retryProfiles().find((profile) => profile.name === draft.name)?.id ?? null;
    return {
      what: `retryProfiles[${index}]`,
      exists: existing !== null,
      apply: () =>
        existing === null
          ? configuration.createRetryProfile(completeProfile(draft))
          : configuration.updateRetryProfile(existing, draft),
    };
  });
}

/** By different members, such as name and write key, two entries may mean one thing. */
function repeatedEntry(
  list: string,
  meant: readonly ({ id: number } | undefined)[],
  index: number,
): Problem | null {
  const id = meant[index]?.id;
  const first = id === undefined ? index : meant.findIndex((each) => each?.id === id);
  return first === index
    ? null
    : invalid(`it is the same as ${list}[${first}]. Leave one of them out.`);
}

function sourceEntries(
  { configuration }: Pipeline,
  { sources = [] }: ConfigurationDocument,
): Entry[] {
  const meant = sources.map(({ name, writeKey }) =>
    writeKey === undefined
      ? sourceNamed(configuration, name)
      : configuration.sourceByWriteKey(writeKey),
  );
  return sources.map((draft, index) => {
    const existing = meant[index];
    const { faults, ...others } = draft as SourceDraft;
    // Faults that are given start to count again.
    const isKept = faults === undefined || isEqual(faults, existing?.faults ?? null);
    return {
      what: `sources[${index}]`,
      exists: existing !== undefined,
      apply: async () =>
        repeatedEntry("sources", meant, index) ??
        (await preparePlan(others.plan)) ??
        (existing === undefined
          ? configuration.createSource(draft as SourceDraft)
          : configuration.updateSource(existing.id, isKept ? others : { ...others, faults })),
    };
  });
}

function endpointEntries(
  { endpoints }: Pipeline,
  { endpoints: drafts = [] }: ConfigurationDocument,
): Entry[] {
  const all = endpoints.list();
  const meant = drafts.map(({ name, path }) =>
    all.find((endpoint) => (path === undefined ? endpoint.name === name : endpoint.path === path)),
  );
  return drafts.map((draft, index) => {
    const existing = meant[index];
    // The URLs of receivers have their credentials left out like those of webhooks.
    const there = existing?.steps ?? [];
    const steps = draft.steps.map((step, place) =>
      withKnown(step, [...there.slice(place, place + 1), ...there]),
    );
    const missing = steps.flatMap((step) => step.missing);
    const known = { ...draft, steps: steps.map(({ one }) => one) };
    const { steps: _, ...others } = known;
    // Steps that are given start at the first one.
    const changes = isEqual(known.steps, there) ? others : known;
    return {
      what: `endpoints[${index}]`,
      exists: existing !== undefined,
      missing: missing.map((value) => `${draft.name}: ${value}`),
      apply: () =>
        repeatedEntry("endpoints", meant, index) ??
        (existing === undefined ? endpoints.create(known) : endpoints.update(existing.id, changes)),
    };
  });
}

function clientEntries(
  { clients }: Pipeline,
  { clients: drafts = [] }: ConfigurationDocument,
): Entry[] {
  return drafts.map((draft, index) => {
    const existing = clients.list().find((client) => client.name === draft.name);
    const { endpoint } = draft;
    // What it leaves out stays as it is.
    const { one, missing } = withKnown({ url: endpoint }, [{ url: existing?.endpoint }]);
    const known = typeof endpoint === "string" ? { ...draft, endpoint: one.url } : draft;
    return {
      what: `clients[${index}]`,
      exists: existing !== undefined,
      missing: missing.map((value) => `${draft.name}: ${value}`),
      apply: () =>
        existing === undefined ? clients.create(known) : clients.update(existing.id, known),
    };
  });
}
