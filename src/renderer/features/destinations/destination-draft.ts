/**
 * A destination while it is being set up or changed: what is typed, what is wrong with it, and what
 * is sent to the API.
 */

import type { AnswerOf, InputOf } from "../../../contract/contract.ts";
import { checkHeader, checkWebhookUrl } from "../../../domain/webhook-rules.ts";
import { draftStore } from "../../stores/drafts.ts";
import { masked, unmasked } from "../../transport/secrets.ts";
import {
  type MappingDraft,
  mappingDraftOf,
  mappingInput,
  type MappingProblems,
  newMapping,
  problemsOfMapping,
} from "./mapping-draft.ts";

export type Destination = AnswerOf<"destinations.get">;

export type WebhookDraft = { url: string; headers: [name: string, value: string][] };

export type DestinationDraft = {
  kind: Destination["kind"];
  name: string;
  sourceIds: string[];
  /** Of the kind `webhooks`. */
  webhooks: WebhookDraft[];
  /** Of the kind `webhooks-actions`. */
  mappings: MappingDraft[];
  /** Undefined: stays as it is. Null: none. */
  sharedSecret: string | null | undefined;
  /** It was typed, and the page was then reloaded. */
  hasLostSecret?: boolean;
  enabled: boolean;
  retryProfile: string;
  payload: Destination["payload"];
  audienceCalls: Destination["audienceCalls"];
};

export function newDraft(
  sourceIds: readonly string[],
  retryProfile = "documented",
): DestinationDraft {
  return {
    kind: "webhooks",
    name: "Webhooks",
    // With one source there is nothing to choose.
    sourceIds: sourceIds.length === 1 ? [...sourceIds] : [],
    webhooks: [{ url: "", headers: [] }],
    mappings: [],
    sharedSecret: null,
    enabled: true,
    retryProfile,
    payload: "documented",
    audienceCalls: "identify",
  };
}

/** A new one that sends there too: what is empty gets the URL, else one more webhook or mapping. */
export function withUrl(draft: DestinationDraft, url: string): DestinationDraft {
  const { kind, webhooks, mappings } = draft;
  return kind === "webhooks"
    ? { ...draft, webhooks: oneWith(url, webhooks, { url, headers: [] }) }
    : { ...draft, mappings: oneWith(url, mappings, { ...newMapping(mappings), url }) };
}

function oneWith<Target extends { url: string }>(
  url: string,
  targets: Target[],
  another: Target,
): Target[] {
  if (targets.some((each) => each.url === url)) return targets;
  const empty = targets.findIndex((each) => each.url === "");
  return empty === -1
    ? [...targets, another]
    : targets.map((each, place) => (place === empty ? { ...each, url } : each));
}

/** The kind of a new one, with what it begins with; what was typed for all kinds stays. */
export function ofKind(
  kind: Destination["kind"],
  { name, mappings }: DestinationDraft,
): Partial<DestinationDraft> {
  const titles = { webhooks: "Webhooks", "webhooks-actions": "Webhooks (Actions)" };
  return {
    kind,
    name: Object.values(titles).includes(name) ? titles[kind] : name,
    retryProfile: kind === "webhooks" ? "documented" : "actions",
    mappings: kind === "webhooks" || mappings.length > 0 ? mappings : [newMapping([])],
  };
}

export function draftOf({
  kind,
  name,
  sourceIds,
  webhooks,
  mappings,
  enabled,
  retryProfile,
  payload,
  audienceCalls,
}: Destination): DestinationDraft {
  return {
    kind,
    name,
    sourceIds: [...sourceIds],
    webhooks: webhooks.map(({ url, headers }) => ({ url, headers: Object.entries(headers) })),
    mappings: mappings.map(mappingDraftOf),
    sharedSecret: undefined,
    enabled,
    retryProfile,
    payload,
    audienceCalls,
  };
}

/** Everything but `enabled`, which has a switch of its own once the destination exists. */
export function changesOf({
  kind,
  name,
  sourceIds,
  webhooks,
  mappings,
  sharedSecret,
  retryProfile,
  payload,
  audienceCalls,
}: DestinationDraft) {
  return {
    name,
    sourceIds,
    ...(kind === "webhooks-actions"
      ? { mappings: mappings.map(mappingInput) }
      : {
          webhooks: webhooks.map(({ url, headers }) => ({
            url,
            headers: Object.fromEntries(headers),
          })),
          payload,
        }),
    ...(sharedSecret === undefined ? {} : { sharedSecret }),
    retryProfile,
    audienceCalls,
  } satisfies Omit<InputOf<"destinations.update">, "id">;
}

export function isSame(one: DestinationDraft, other: DestinationDraft): boolean {
  const typed = (each: DestinationDraft): string =>
    // A mapping also has texts that cannot be read yet.
    JSON.stringify([changesOf(each), each.mappings]);
  return typed(one) === typed(other);
}

export type DraftProblems = {
  name: string | null;
  webhooks: { url: string | null; headers: (string | null)[] }[];
  mappings: MappingProblems[];
  isWrong: boolean;
};

/** Also while secrets are hidden: dots are refused where a secret is right. */
export function problemsOf(shown: DestinationDraft): DraftProblems {
  const draft = unmasked(shown);
  const { kind, name, mappings } = draft;
  const webhooks = kind === "webhooks" ? draft.webhooks : [];
  const wrongName = name.trim() === "" ? "A destination needs a name." : null;
  const wrongWebhooks = webhooks.map((webhook, place) => ({
    url: checkWebhookUrl(webhook.url) ?? sameUrl(webhooks, place),
    headers: webhook.headers.map((_, at) => wrongHeader(webhook.headers, at)),
  }));
  const wrongMappings =
    kind === "webhooks"
      ? []
      : mappings.map((mapping, place) => problemsOfMapping(mapping, mappings.slice(0, place)));
  const isWrong =
    wrongName !== null ||
    wrongMappings.some((mapping) => mapping.isWrong) ||
    wrongWebhooks.some(({ url, headers }) => url !== null || headers.some((each) => each !== null));
  return masked({ name: wrongName, webhooks: wrongWebhooks, mappings: wrongMappings, isWrong });
}

/** The API takes it, but a delivery would go there twice in every round: surely a slip. */
function sameUrl(webhooks: readonly WebhookDraft[], place: number): string | null {
  const first = webhooks.findIndex(({ url }) => url === webhooks[place]?.url);
  return first < place ? `Webhook ${first + 1} already has this URL.` : null;
}

function wrongHeader(headers: WebhookDraft["headers"], at: number): string | null {
  const [name, value] = headers[at] ?? ["", ""];
  const first = headers.findIndex(([other]) => other.toLowerCase() === name.toLowerCase());
  return checkHeader(name, value) ?? (first < at ? `The header ${name} is set twice.` : null);
}

/** The API never lists a shared secret, and the browser does not store it either. */
export function withoutSecret({ sharedSecret, ...draft }: DestinationDraft): DestinationDraft {
  return typeof sharedSecret === "string" && sharedSecret !== ""
    ? { ...draft, sharedSecret: undefined, hasLostSecret: true }
    : { ...draft, sharedSecret };
}

export const useDrafts = draftStore<DestinationDraft>("Destination", withoutSecret);
