/**
 * From the members of a scenario file to those of the control API: names become addresses and ids,
 * durations become milliseconds.
 */

import type { InputOf } from "../../contract/contract.ts";
import type { RetryProfile } from "../../domain/configuration.ts";
import { formatDuration } from "../file/duration.ts";
import type { Scenario, ScenarioInput } from "../file/scenario-schema.ts";
import type { FileAudienceChange, FileComputedTrait } from "../file/change-schema.ts";
import {
  isUrl,
  type FileDestination,
  type FileEndpoint,
  type FileFault,
  type FileMapping,
  type FileRetryProfile,
  type FileWebhook,
  type ProgramStep,
} from "../file/setup-schema.ts";

type FileRetryProfileInput = NonNullable<ScenarioInput["retryProfiles"]>[string];

export type EndpointAddress = { url: string; tlsUrl: string };

type FileSource = NonNullable<NonNullable<Scenario["sources"]>[string]>;
type SourceChanges = Omit<InputOf<"sources.update">, "id">;
type EndpointChanges = Pick<InputOf<"endpoints.create">, "steps" | "after" | "perMessage">;
type DestinationChanges = Omit<InputOf<"destinations.update">, "id">;

export function sourceChanges({ faults, ...members }: FileSource): SourceChanges {
  return { ...members, ...(faults === undefined ? {} : { faults: faults.map(faultOf) }) };
}

function faultOf({ delay, ...fault }: FileFault): NonNullable<SourceChanges["faults"]>[number] {
  return { ...fault, ...(delay === undefined ? {} : { delayMs: delay }) };
}

/** A key that reads as its source's name does; the number keeps two of them apart. */
export function writeKeyOf(name: string, number: number): string {
  const slug = name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-|-$/g, "");
  return `key-${slug === "" ? "source" : slug}-${number}`;
}

type AddressOf = (endpoint: string) => EndpointAddress;

export function endpointChanges(endpoint: FileEndpoint, addressOf: AddressOf): EndpointChanges {
  const changed = (step: ProgramStep) => stepOf(step, addressOf);
  if (Array.isArray(endpoint)) return { steps: endpoint.map(changed) };
  return {
    steps: endpoint.steps.map(changed),
    ...(endpoint.after === undefined ? {} : { after: endpoint.after }),
    ...(endpoint.perMessage === undefined ? {} : { perMessage: endpoint.perMessage }),
  };
}

function stepOf(
  { do: does, delay, delayAfter, for: lasts, to, mayBeDown: _, ...step }: ProgramStep,
  addressOf: AddressOf,
): EndpointChanges["steps"][number] {
  return {
    ...step,
    do: does ?? "answer",
    ...(to === undefined ? {} : { to: isUrl(to) ? to : addressOf(to).url }),
    ...(delay === undefined ? {} : { delayMs: delay }),
    ...(delayAfter === undefined ? {} : { delayAfterMs: delayAfter }),
    ...(lasts === undefined ? {} : { forMs: lasts }),
  };
}

export function destinationChanges(
  { sources, webhooks, mappings, kind, ...members }: Partial<FileDestination>,
  { sourceId, addressOf }: { sourceId: (name: string) => string; addressOf: AddressOf },
): DestinationChanges {
  return {
    ...members,
    ...(mappings === undefined
      ? kind === undefined
        ? {}
        : { kind }
      : {
          kind: kind ?? "webhooks-actions",
          mappings: mappings.map((one, index) => mappingOf(one, index, addressOf)),
        }),
    ...(sources === undefined ? {} : { sourceIds: sources.map(sourceId) }),
    ...(webhooks === undefined
      ? {}
      : {
          webhooks: webhooks.map((webhook) => ({
            url: urlOf(webhook, addressOf),
            headers: webhook.headers ?? {},
          })),
        }),
  };
}

function mappingOf(
  { name, endpoint, url, mayBeDown: _, batch, ...members }: FileMapping,
  index: number,
  addressOf: AddressOf,
): NonNullable<DestinationChanges["mappings"]>[number] {
  return {
    ...members,
    name: name ?? `Mapping ${index + 1}`,
    url: endpoint === undefined ? url : addressOf(endpoint).url,
    ...(batch === undefined ? {} : { batch: batchOf(batch) }),
  };
}

function batchOf({ enabled = true, wait, ...batch }: NonNullable<FileMapping["batch"]>) {
  return { enabled, ...batch, ...(wait === undefined ? {} : { waitMs: wait }) };
}

function urlOf({ endpoint, certificate, url }: FileWebhook, addressOf: AddressOf): string {
  if (endpoint === undefined) return url ?? "";
  const address = addressOf(endpoint);
  if (certificate === undefined) return address.url;
  const secure = new URL(address.tlsUrl);
  secure.hostname = `${certificate}.localhost`;
  return secure.href;
}

type RetryProfileDraft = Omit<InputOf<"retryProfiles.create">, "name">;

export function retryProfileDraft(profile: FileRetryProfile): RetryProfileDraft {
  const { delays, window, timeout, retried, ...members } = profile;
  const schedule =
    delays === undefined
      ? undefined
      : Array.isArray(delays)
        ? { kind: "list" as const, delaysMs: delays }
        : {
            kind: "exponential" as const,
            firstMs: delays.first,
            factor: delays.factor,
            capMs: delays.cap,
          };
  return {
    ...members,
    ...(schedule === undefined ? {} : { schedule }),
    ...(window === undefined ? {} : { windowMs: window }),
    ...(timeout === undefined ? {} : { timeoutMs: timeout }),
    ...(retried === undefined ? {} : { retriedStatuses: retried.map(statusesOf) }),
  };
}

function statusesOf(statuses: string | number): { from: number; to: number } {
  const [from, to] = String(statuses).split("-").map(Number);
  return { from: from ?? 0, to: to ?? from ?? 0 };
}

/** The same in a file. */
export function fileRetryProfile(profile: RetryProfile): FileRetryProfileInput {
  const { schedule, jitter, windowMs, timeoutMs, retriedStatuses } = profile;
  return {
    delays:
      schedule.kind === "list"
        ? schedule.delaysMs.map(formatDuration)
        : {
            first: formatDuration(schedule.firstMs),
            factor: schedule.factor,
            cap: formatDuration(schedule.capMs),
          },
    jitter,
    window: formatDuration(windowMs),
    timeout: formatDuration(timeoutMs),
    retried: retriedStatuses.map(({ from, to }) => (from === to ? from : `${from}-${to}`)),
    retryTimeouts: profile.retryTimeouts,
    retryConnectionErrors: profile.retryConnectionErrors,
    ...(profile.honourRetryAfter ? { honourRetryAfter: true } : {}),
  };
}

type AudienceChanges = Omit<InputOf<"audiences.update">, "id">;

export function audienceChanges(
  { destinations, sync, ...members }: FileAudienceChange,
  destinationId: (name: string) => string,
): AudienceChanges {
  return { ...members, ...computedChanges({ destinations, sync }, destinationId) };
}

type Computed = Pick<FileComputedTrait, "destinations" | "sync">;

export function computedChanges(
  { destinations, sync }: Computed,
  destinationId: (name: string) => string,
): Pick<AudienceChanges, "destinationIds" | "sync"> {
  return {
    ...(destinations === undefined ? {} : { destinationIds: destinations.map(destinationId) }),
    ...(sync === undefined ? {} : { sync: typeof sync === "number" ? { everyMs: sync } : sync }),
  };
}
