/**
 * The sources and destinations of recorded messages, by names, and endpoints in the places of the
 * receivers.
 */

import type { DestinationAnswer } from "../../contract/destinations.ts";
import type { MessageDetailsAnswer } from "../../contract/messages.ts";
import type { SourceAnswer } from "../../contract/sources.ts";
import { headersWithoutCredentials, leftOut } from "../../domain/credentials.ts";
import type { ScenarioInput } from "../file/scenario-schema.ts";
import { fileRetryProfile } from "../run/drafts.ts";
import type { ScenarioPipeline } from "../run/pipeline.ts";
import { certificateOf, programOf } from "./programs.ts";

export type RecordedSetup = {
  file: Pick<
    ScenarioInput,
    "seed" | "settings" | "sources" | "endpoints" | "retryProfiles" | "destinations"
  >;
  /** The names that ids and URLs have in the file; undefined for what is not in it. */
  source(id: string): string | undefined;
  isExplaining(sourceId: string): boolean;
  destination(id: string): string | undefined;
  endpoint(destinationId: string, url: string): string | undefined;
};

type Note = (sentence: string) => void;
type FileDestination = NonNullable<ScenarioInput["destinations"]>[string];

const standIn = "stands in for the recorded secret";

export async function setupOf(
  own: ScenarioPipeline,
  messages: readonly MessageDetailsAnswer[],
  note: Note,
): Promise<RecordedSetup> {
  const settings = await own.call("settings.get", {});
  const profiles = new Map(
    (await own.call("retryProfiles.list", {})).items.map((profile) => [profile.name, profile]),
  );
  const usedSources = new Set(messages.map(({ sourceId }) => sourceId));
  const usedDestinations = new Set(
    messages.flatMap(({ decisions }) => decisions.map(({ destinationId }) => destinationId)),
  );
  const sources = (await own.call("sources.list", {})).items.filter(
    ({ id, kind }) => usedSources.has(id) && kind !== "audience",
  );
  const destinations = (await own.call("destinations.list", {})).items.filter(({ id }) =>
    usedDestinations.has(id),
  );
  if (destinations.length < usedDestinations.size)
    note("A destination has been deleted. Its deliveries are left out.");

  const forwards = (await own.call("endpoints.list", {})).items.filter(({ steps }) =>
    steps.some((step) => step.do === "forward"),
  );
  const sourceNames = uniqueNames(sources);
  const destinationNames = uniqueNames(destinations);
  const endpointNames = new Map<string, string>();
  const endpoints: NonNullable<ScenarioInput["endpoints"]> = {};
  const written: Record<string, FileDestination> = {};
  const customProfiles: NonNullable<ScenarioInput["retryProfiles"]> = {};
  for (const destination of destinations) {
    const name = destinationNames.get(destination.id) ?? destination.name;
    const webhooks = destination.webhooks.map(({ url, headers }, index) => {
      const attempts = messages.flatMap(({ messageId, deliveries }) =>
        deliveries
          .filter(({ destinationId }) => destinationId === destination.id)
          .map((delivery) => ({
            messageId,
            attempts: delivery.attempts.filter(({ webhookUrl }) => webhookUrl === url),
          })),
      );
      const endpoint = free(
        destination.webhooks.length === 1 ? name : `${name} ${index + 1}`,
        new Set(endpointNames.values()),
      );
      if (forwards.some((one) => one.url === url || one.tlsUrl === url))
        note(
          `A test endpoint passed on what went to ${name}. In the scenario, an endpoint answers as the webhook did, and no receiver is asked.`,
        );
      endpointNames.set(`${destination.id} ${url}`, endpoint);
      endpoints[endpoint] = programOf(attempts, note);
      const certificate = certificateOf(
        url,
        attempts.flatMap((one) => one.attempts),
        note,
      );
      return {
        endpoint,
        ...(certificate === null ? {} : { certificate }),
        ...(Object.keys(headers).length === 0
          ? {}
          : { headers: recordedHeaders(name, headers, note) }),
      };
    });
    const profile = profiles.get(destination.retryProfile);
    if (profile !== undefined && !profile.builtIn)
      customProfiles[profile.name] = fileRetryProfile(profile);
    const connected = sources
      .filter(({ id }) => destination.sourceIds.includes(id))
      .map(({ id }) => sourceNames.get(id) ?? "");
    written[name] = {
      webhooks,
      ...(connected.length === sources.length ? {} : { sources: connected }),
      ...destinationMembers(destination, note),
    };
  }
  const { jitter, vendor, seed } = settings;
  const changed = { ...(jitter ? {} : { jitter }), ...(vendor === "Hookyard" ? {} : { vendor }) };
  return {
    file: {
      seed,
      ...(Object.keys(changed).length === 0 ? {} : { settings: changed }),
      sources: Object.fromEntries(
        sources.map((source) => [sourceNames.get(source.id) ?? "", sourceMembers(source)]),
      ),
      endpoints,
      ...(Object.keys(customProfiles).length === 0 ? {} : { retryProfiles: customProfiles }),
      destinations: written,
    },
    source: (id) => sourceNames.get(id),
    isExplaining: (id) => sources.find((source) => source.id === id)?.mode === "explain",
    destination: (id) => destinationNames.get(id),
    endpoint: (destinationId, url) => endpointNames.get(`${destinationId} ${url}`),
  };
}

/** Scenarios are shared and committed. */
function recordedHeaders(
  name: string,
  headers: Record<string, string>,
  note: Note,
): Record<string, string> {
  const without = headersWithoutCredentials(headers);
  for (const [header, value] of Object.entries(headers)) {
    if (value !== without[header])
      note(`The value of the header ${header} of ${name} is not recorded: ${leftOut} replaces it.`);
  }
  return without;
}

function sourceMembers({
  kind,
  mode,
  deduplicate,
  correctClockSkew,
}: SourceAnswer): NonNullable<ScenarioInput["sources"]>[string] {
  return {
    ...(kind === "audience" ? {} : { kind }),
    ...(mode === "explain" ? {} : { mode }),
    ...(deduplicate ? {} : { deduplicate }),
    ...(correctClockSkew === "auto" ? {} : { correctClockSkew }),
  };
}

function destinationMembers(destination: DestinationAnswer, note: Note): Partial<FileDestination> {
  const { name, hasSharedSecret, enabled, retryProfile, payload } = destination;
  if (hasSharedSecret)
    note(`The shared secret of ${name} is not recorded: another one replaces it.`);
  return {
    ...(hasSharedSecret ? { sharedSecret: standIn } : {}),
    ...(enabled ? {} : { enabled }),
    ...(retryProfile === "documented" ? {} : { retryProfile }),
    ...(payload === "documented" ? {} : { payload }),
  };
}

function uniqueNames(things: readonly { id: string; name: string }[]): Map<string, string> {
  const names = new Map<string, string>();
  for (const { id, name } of things) names.set(id, free(name, new Set(names.values())));
  return names;
}

function free(name: string, taken: ReadonlySet<string>): string {
  if (!taken.has(name)) return name;
  for (let number = 2; ; number += 1)
    if (!taken.has(`${name} (${number})`)) return `${name} (${number})`;
}
