/** The webhooks and mappings of a destination: what a draft leaves out, and what cannot be one. */

import type { Destination, Mapping, MappingDraft } from "../domain/configuration.ts";
import { parseCondition } from "../domain/condition.ts";
import { mistakesOfMapping } from "../domain/mapping-check.ts";
import { invalid, type Problem } from "../domain/problem.ts";
import { checkHeader, checkWebhookUrl, maxHeaders, maxWebhooks } from "../domain/webhook-rules.ts";
import type { TargetsDraft } from "./pipeline.ts";
import type { NewDestination } from "./store-ports.ts";

const maxMappings = 5;
const defaultBatchSize = 1000;
const maxBatchSize = 4000;
/** Long enough for the messages of one request, and of clients that flush together. */
const defaultWaitMs = 1000;
const maxWaitMs = 3_600_000;

export function mappingOf(draft: MappingDraft): Omit<Mapping, "id"> {
  const { name, url, enabled, trigger, method, headers, data, batch } = draft;
  return {
    name,
    enabled: enabled ?? true,
    trigger: trigger ?? null,
    url,
    method: method ?? "POST",
    headers: headers ?? {},
    data: data === undefined ? { "@path": "$." } : data,
    batch: {
      enabled: batch?.enabled ?? false,
      size: batch?.size ?? defaultBatchSize,
      keys: batch?.keys ?? ["url", "method", "headers"],
      waitMs: batch?.waitMs ?? defaultWaitMs,
    },
  };
}

/** The URL of its lane, where it is the same for all events. */
const laneUrl = ({ url }: Pick<Mapping, "url">): string => (typeof url === "string" ? url : "");

export function checkMappings(mappings: readonly Omit<Mapping, "id">[]): Problem | null {
  if (mappings.length === 0) return invalid("A destination with mappings needs at least one.");
  if (mappings.length > maxMappings)
    return invalid(`A destination has at most ${maxMappings} mappings, not ${mappings.length}.`);
  const names = new Set<string>();
  for (const [index, mapping] of mappings.entries()) {
    const wrong = names.has(mapping.name)
      ? `name: Another mapping has the name ${mapping.name} already.`
      : mistakeIn(mapping);
    if (wrong !== null) return invalid(`mappings[${index}].${wrong}`);
    names.add(mapping.name);
  }
  return null;
}

function mistakeIn({ name, trigger, url, headers, data, batch }: Omit<Mapping, "id">) {
  if (name.trim() === "") return "name: A mapping needs a name.";
  if (trigger !== null) {
    const parsed = parseCondition(trigger);
    if (parsed.condition === null)
      return `trigger: ${parsed.error.message} (character ${parsed.error.at + 1})`;
  }
  const [mistake] = mistakesOfMapping({ url, headers, data });
  if (mistake !== undefined) return `${mistake.place}: ${mistake.message}`;
  const wrongUrl = typeof url === "string" ? checkWebhookUrl(url) : null;
  if (wrongUrl !== null) return `url: ${wrongUrl}`;
  if (typeof url !== "string" && !isObject(url)) return "url: The URL is a text or a directive.";
  if (!isObject(headers)) return "headers: The headers are an object or a directive.";
  if (!(batch.size >= 1 && batch.size <= maxBatchSize))
    return `batch.size: A batch has 1 to ${maxBatchSize} events.`;
  if (!(batch.waitMs >= 0 && batch.waitMs <= maxWaitMs))
    return "batch.waitMs: A batch waits for at most an hour.";
  return null;
}

const isObject = (value: unknown): boolean =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Members of the other kind. */
export function misplacedIn(
  { kind = "webhooks", webhooks = [], mappings = [] }: TargetsDraft,
  before: Destination | null,
): Problem | null {
  if (before !== null && before.kind !== kind)
    return invalid("A destination keeps its kind. Create another one.");
  if (kind === "webhooks" && mappings.length > 0)
    return invalid('mappings: Only a destination of the kind "webhooks-actions" has mappings.');
  if (kind === "webhooks-actions" && webhooks.length > 0)
    return invalid('webhooks: A destination of the kind "webhooks-actions" has mappings instead.');
  return null;
}

/** A mapping that keeps its name keeps its webhook, and with it its lane and its attempts. */
export function webhooksOfMappings(
  mappings: readonly Omit<Mapping, "id">[],
  before: Destination | null,
): NewDestination["webhooks"] {
  return mappings.map((mapping) => {
    const known = before?.mappings.find(({ name }) => name === mapping.name);
    const webhook = { url: laneUrl(mapping), headers: {} };
    return known === undefined ? webhook : { id: known.id, ...webhook };
  });
}

/** Webhooks that stay keep their id, and with it their lane and their attempts. */
export function withKnownWebhooks(
  webhooks: NewDestination["webhooks"],
  before: Destination | null,
): NewDestination["webhooks"] {
  const free = [...(before?.webhooks ?? [])];
  return webhooks.map(({ url, headers }) => {
    const place = free.findIndex((webhook) => webhook.url === url);
    const [known] = place < 0 ? [] : free.splice(place, 1);
    return known === undefined ? { url, headers } : { id: known.id, url, headers };
  });
}

export function checkWebhooks(webhooks: NewDestination["webhooks"]): Problem | null {
  if (webhooks.length === 0) return invalid("A destination needs at least one webhook.");
  if (webhooks.length > maxWebhooks)
    return invalid(`A destination has at most ${maxWebhooks} webhooks, not ${webhooks.length}.`);
  for (const { url, headers } of webhooks) {
    const wrongUrl = checkWebhookUrl(url);
    if (wrongUrl !== null) return invalid(wrongUrl);
    const entries = Object.entries(headers);
    if (entries.length > maxHeaders)
      return invalid(`A webhook has at most ${maxHeaders} headers, not ${entries.length}.`);
    const names = new Set<string>();
    for (const [name, value] of entries) {
      const wrongHeader = checkHeader(name, value);
      if (wrongHeader !== null) return invalid(wrongHeader);
      if (names.has(name.toLowerCase()))
        return invalid(`The header ${name} appears twice, in two spellings.`);
      names.add(name.toLowerCase());
    }
  }
  return null;
}
