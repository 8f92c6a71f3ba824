/**
 * The sources and destinations of recorded messages, by names, and endpoints in the places of the
 * receivers.
 */

import type { AnswerOf } from "../../contract/contract.ts";
import type { AttemptAnswer } from "../../contract/deliveries.ts";
import type { DestinationAnswer } from "../../contract/destinations.ts";
import type { MessageDetailsAnswer } from "../../contract/messages.ts";
import type { SourceAnswer } from "../../contract/sources.ts";
import { defaultSettings, type Settings } from "../../domain/configuration.ts";
import { leftOut, withoutCredentials } from "../../domain/credentials.ts";
import { pieceChanges } from "../../domain/parity.ts";
import { formatDuration } from "../file/duration.ts";
import type { ScenarioInput } from "../file/scenario-schema.ts";
import { fileRetryProfile } from "../run/drafts.ts";
import type { ScenarioPipeline } from "../run/pipeline.ts";
import { certificateOf, inOrder, programInOrder, programOf, type Program } from "./programs.ts";

export type RecordedSetup = {
  file: Pick<
    ScenarioInput,
    "seed" | "settings" | "sources" | "endpoints" | "retryProfiles" | "destinations"
  >;
  /** The names that ids and URLs have in the file; undefined for what is not in it. */
  source(id: string): string | undefined;
  isExplaining(sourceId: string): boolean;
  destination(id: string): string | undefined;
  endpoint(destinationId: string, webhook: Webhook): string | undefined;
};

type Webhook = Pick<AttemptAnswer, "webhookId" | "webhookUrl">;
type Note = (sentence: string) => void;
type FileSource = NonNullable<NonNullable<ScenarioInput["sources"]>[string]>;
type FileDestination = NonNullable<ScenarioInput["destinations"]>[string];
type FileMapping = NonNullable<FileDestination["mappings"]>[number];

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
  const usual = usualSettings(settings, note);
  const sourceNames = uniqueNames(sources);
  const destinationNames = uniqueNames(destinations);
  const endpointNames = new Map<string, string>();
  const endpoints: NonNullable<ScenarioInput["endpoints"]> = {};
  const written: Record<string, FileDestination> = {};
  const customProfiles: NonNullable<ScenarioInput["retryProfiles"]> = {};
  for (const destination of destinations) {
    const name = destinationNames.get(destination.id) ?? destination.name;
    const addEndpoint: AddEndpoint = (of, index, program) => {
      const number = destination.webhooks.length === 1 ? "" : ` ${index + 1}`;
      const endpoint = free(name + number, new Set(endpointNames.values()));
      endpointNames.set(`${destination.id} ${of}`, endpoint);
      endpoints[endpoint] = program;
      return endpoint;
    };
    const profile = profiles.get(destination.retryProfile);
    if (profile !== undefined && !profile.builtIn)
      customProfiles[profile.name] = fileRetryProfile(profile);
    const connected = sources
      .filter(({ id }) => destination.sourceIds.includes(id))
      .map(({ id }) => sourceNames.get(id) ?? "");
    const isForwarded = (url: string): boolean =>
      forwards.some((one) => one.url === url || one.tlsUrl === url);
    written[name] = {
      ...(destination.kind === "webhooks-actions"
        ? { mappings: recordedMappings(name, destination, messages, addEndpoint, note) }
        : {
            webhooks: recordedWebhooks(name, destination, messages, addEndpoint, {
              note,
              isForwarded,
            }),
          }),
      ...(connected.length === sources.length ? {} : { sources: connected }),
      ...destinationMembers(destination, usual.retryProfile, note),
    };
  }
  const plans = new Map<string, Awaited<ReturnType<typeof planOf>>>();
  for (const { id, plan } of sources) if (plan !== null) plans.set(id, await planOf(own, id));
  const { parity, jitter, vendor, seed } = settings;
  const changed = {
    ...(parity === "own" ? {} : { parity }),
    ...(jitter ? {} : { jitter }),
    ...(vendor === usual.vendor ? {} : { vendor }),
  };
  return {
    file: {
      seed,
      ...(Object.keys(changed).length === 0 ? {} : { settings: changed }),
      sources: Object.fromEntries(
        sources.map((source) => [
          sourceNames.get(source.id) ?? "",
          { ...sourceMembers(source, usual), ...plans.get(source.id) },
        ]),
      ),
      endpoints,
      ...(Object.keys(customProfiles).length === 0 ? {} : { retryProfiles: customProfiles }),
      destinations: written,
    },
    source: (id) => sourceNames.get(id),
    isExplaining: (id) => sources.find((source) => source.id === id)?.mode === "explain",
    destination: (id) => destinationNames.get(id),
    endpoint: (destinationId, { webhookId, webhookUrl }) =>
      endpointNames.get(`${destinationId} ${webhookId}`) ??
      endpointNames.get(`${destinationId} ${webhookUrl}`),
  };
}

/** Returns the name of the endpoint that replaces the webhook or mapping at a place. */
type AddEndpoint = (of: string, index: number, program: Program) => string;

function recordedMappings(
  name: string,
  { mappings }: DestinationAnswer,
  messages: readonly MessageDetailsAnswer[],
  addEndpoint: AddEndpoint,
  note: Note,
): FileMapping[] {
  return mappings.map((mapping, index) => {
    const isOwn = ({ webhookId }: AttemptAnswer): boolean => webhookId === mapping.id;
    const program = hasMessageId(mapping)
      ? programOf(attemptsByMessage(messages, isOwn), note)
      : programInOrder(uniqueAttempts(messages, isOwn), note);
    const endpoint = addEndpoint(mapping.id, index, program);
    return recordedMapping(name, mapping, endpoint, note);
  });
}

function recordedWebhooks(
  name: string,
  { id, webhooks }: DestinationAnswer,
  messages: readonly MessageDetailsAnswer[],
  addEndpoint: AddEndpoint,
  { note, isForwarded }: { note: Note; isForwarded: (url: string) => boolean },
): NonNullable<FileDestination["webhooks"]> {
  return webhooks.map(({ url, headers }, index) => {
    const attempts = attemptsByMessage(
      messages,
      ({ webhookUrl }, { destinationId }) => destinationId === id && webhookUrl === url,
    );
    if (isForwarded(url))
      note(
        `A test endpoint passed on what went to ${name}. In the scenario, an endpoint answers as the webhook did, and no receiver is asked.`,
      );
    const endpoint = addEndpoint(url, index, programOf(attempts, note));
    const made = attempts.flatMap((one) => one.attempts);
    const certificate = certificateOf(url, made, note);
    return {
      endpoint,
      ...(certificate === null ? {} : { certificate }),
      ...(Object.keys(headers).length === 0
        ? {}
        : { headers: recordedHeaders(name, headers, note) }),
    };
  });
}

/** Scenarios are shared and committed. Headers of a mapping may be directives. */
function recordedHeaders<Headers>(name: string, headers: Headers, note: Note): Headers {
  const without = withoutCredentials({ headers }).headers;
  for (const header of namesLeftOut(headers, without))
    note(`The value of the header ${header} of ${name} is not recorded: ${leftOut} replaces it.`);
  return without;
}

function namesLeftOut(headers: unknown, without: unknown): string[] {
  if (typeof headers !== "object" || headers === null) return [];
  return Object.entries(headers).flatMap(([name, value]) => {
    const recorded = (without as Record<string, unknown>)[name];
    return recorded === leftOut && value !== leftOut ? [name] : namesLeftOut(value, recorded);
  });
}

/** Whether the bodies of its requests say which message they are of, where a test endpoint looks. */
function hasMessageId({ data, batch }: DestinationAnswer["mappings"][number]): boolean {
  const path =
    typeof data === "object" && data !== null && "messageId" in data ? data.messageId : null;
  return !batch.enabled && (isWhole(data) || JSON.stringify(path) === '{"@path":"$.messageId"}');
}

const isWhole = (data: unknown): boolean => JSON.stringify(data) === '{"@path":"$."}';

type OfDelivery = MessageDetailsAnswer["deliveries"][number];

function attemptsByMessage(
  messages: readonly MessageDetailsAnswer[],
  isWanted: (attempt: AttemptAnswer, delivery: OfDelivery) => boolean,
): { messageId: string; attempts: AttemptAnswer[] }[] {
  return messages.flatMap(({ messageId, deliveries }) => {
    const attempts = deliveries.flatMap((delivery) =>
      delivery.attempts.filter((attempt) => isWanted(attempt, delivery)),
    );
    return attempts.length === 0 ? [] : [{ messageId, attempts }];
  });
}

/** In the order in which they started; those of a batch once. */
function uniqueAttempts(
  messages: readonly MessageDetailsAnswer[],
  isWanted: (attempt: AttemptAnswer) => boolean,
): AttemptAnswer[] {
  const all = messages.flatMap(({ deliveries }) => deliveries.flatMap(({ attempts }) => attempts));
  const unique = new Map(all.filter(isWanted).map((attempt) => [attempt.id, attempt]));
  return inOrder([...unique.values()]);
}

function recordedMapping(
  destination: string,
  {
    name,
    enabled,
    trigger,
    url,
    method,
    headers,
    data,
    batch,
  }: DestinationAnswer["mappings"][number],
  endpoint: string,
  note: Note,
): FileMapping {
  if (typeof url !== "string")
    note(
      `The URL of the mapping ${name} of ${destination} depends on the message. In the scenario all its requests go to one endpoint.`,
    );
  return {
    name,
    ...(enabled ? {} : { enabled }),
    ...(trigger === null ? {} : { trigger }),
    endpoint,
    ...(method === "POST" ? {} : { method }),
    ...(isEmpty(headers) ? {} : { headers: recordedHeaders(destination, headers, note) }),
    ...(isWhole(data) ? {} : { data }),
    ...(batch.enabled
      ? { batch: { size: batch.size, keys: batch.keys, wait: formatDuration(batch.waitMs) } }
      : {}),
  };
}

const isEmpty = (headers: unknown): boolean =>
  typeof headers === "object" && headers !== null && Object.keys(headers).length === 0;

async function planOf(
  own: ScenarioPipeline,
  id: string,
): Promise<Pick<FileSource, "plan"> | undefined> {
  const { plan } = await own.call("sources.plan", { id });
  if (plan === null) return undefined;
  const { rules, name, ...members } = plan;
  const asHosted = rules.map(({ type, ...rule }) => ({ type: type.toUpperCase(), ...rule }));
  return {
    plan: { ...(name === null ? {} : { name }), ...members, schemas: { rules: asHosted } },
  };
}

type UsualSettings = Pick<
  Settings,
  "vendor" | "answers" | "correctClockSkew" | "retryProfile" | "limitMessageIds" | "contextIp"
>;

/** What a scenario has that says no more than `parity`. */
function usualSettings(settings: AnswerOf<"settings.get">, note: Note): UsualSettings {
  const usual = {
    ...defaultSettings,
    ...(settings.parity === "hosted" ? pieceChanges("hosted", defaultSettings) : {}),
  };
  for (const name of ["limitMessageIds", "contextIp"] as const)
    if (settings[name] !== usual[name])
      note(
        `A scenario has no setting ${name} of its own. In the scenario it is ${usual[name]}, not ${settings[name]}.`,
      );
  return usual;
}

function sourceMembers(
  { kind, mode, deduplicate, correctClockSkew }: SourceAnswer,
  usual: UsualSettings,
): FileSource {
  return {
    ...(kind === "audience" ? {} : { kind }),
    ...(mode === usual.answers ? {} : { mode }),
    ...(deduplicate ? {} : { deduplicate }),
    ...(correctClockSkew === usual.correctClockSkew ? {} : { correctClockSkew }),
  };
}

function destinationMembers(
  destination: DestinationAnswer,
  usualProfile: string,
  note: Note,
): Partial<FileDestination> {
  const { name, kind, hasSharedSecret, enabled, payload, audienceCalls, filters } = destination;
  const { retryProfile } = destination;
  const usual = kind === "webhooks-actions" ? "actions" : usualProfile;
  if (hasSharedSecret)
    note(`The shared secret of ${name} is not recorded: another one replaces it.`);
  return {
    ...(hasSharedSecret ? { sharedSecret: standIn } : {}),
    ...(enabled ? {} : { enabled }),
    ...(retryProfile === usual ? {} : { retryProfile }),
    ...(payload === "documented" ? {} : { payload }),
    ...(audienceCalls === "identify" ? {} : { audienceCalls }),
    ...(filters.length === 0 ? {} : { filters }),
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
