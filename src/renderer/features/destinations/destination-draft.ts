/**
 * A destination while it is being set up or changed: what is typed, what is wrong with it, and what
 * is sent to the API.
 */

import type { AnswerOf, InputOf } from "../../../contract/contract.ts";
import { checkHeader, checkWebhookUrl } from "../../../domain/webhook-rules.ts";
import { draftStore } from "../../stores/drafts.ts";

export type Destination = AnswerOf<"destinations.get">;

export type WebhookDraft = { url: string; headers: [name: string, value: string][] };

export type DestinationDraft = {
  name: string;
  sourceIds: string[];
  webhooks: WebhookDraft[];
  /** Undefined: stays as it is. Null: none. */
  sharedSecret: string | null | undefined;
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
    name: "Webhooks",
    // With one source there is nothing to choose.
    sourceIds: sourceIds.length === 1 ? [...sourceIds] : [],
    webhooks: [{ url: "", headers: [] }],
    sharedSecret: null,
    enabled: true,
    retryProfile,
    payload: "documented",
    audienceCalls: "identify",
  };
}

export function draftOf({
  name,
  sourceIds,
  webhooks,
  enabled,
  retryProfile,
  payload,
  audienceCalls,
}: Destination): DestinationDraft {
  return {
    name,
    sourceIds: [...sourceIds],
    webhooks: webhooks.map(({ url, headers }) => ({ url, headers: Object.entries(headers) })),
    sharedSecret: undefined,
    enabled,
    retryProfile,
    payload,
    audienceCalls,
  };
}

/** Everything but `enabled`, which has a switch of its own once the destination exists. */
export function changesOf({
  name,
  sourceIds,
  webhooks,
  sharedSecret,
  retryProfile,
  payload,
  audienceCalls,
}: DestinationDraft) {
  return {
    name,
    sourceIds,
    webhooks: webhooks.map(({ url, headers }) => ({ url, headers: Object.fromEntries(headers) })),
    ...(sharedSecret === undefined ? {} : { sharedSecret }),
    retryProfile,
    payload,
    audienceCalls,
  } satisfies Omit<InputOf<"destinations.update">, "id">;
}

export function isChanged(draft: DestinationDraft, destination: Destination): boolean {
  return JSON.stringify(changesOf(draft)) !== JSON.stringify(changesOf(draftOf(destination)));
}

export type DraftProblems = {
  name: string | null;
  webhooks: { url: string | null; headers: (string | null)[] }[];
  isWrong: boolean;
};

export function problemsOf({ name, webhooks }: DestinationDraft): DraftProblems {
  const wrongName = name.trim() === "" ? "A destination needs a name." : null;
  const wrongWebhooks = webhooks.map((webhook, place) => ({
    url: checkWebhookUrl(webhook.url) ?? sameUrl(webhooks, place),
    headers: webhook.headers.map((_, at) => wrongHeader(webhook.headers, at)),
  }));
  const isWrong =
    wrongName !== null ||
    wrongWebhooks.some(({ url, headers }) => url !== null || headers.some((each) => each !== null));
  return { name: wrongName, webhooks: wrongWebhooks, isWrong };
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

export const useDrafts = draftStore<DestinationDraft>("Destination");
