/**
 * Destinations in the configuration's document: known by their names, with their sources' write
 * keys, and faults in front of their webhooks.
 */

import type { ConfigurationDocument } from "../../contract/configuration.ts";
import { leftOut, urlWithoutCredentials, withKnown } from "../../domain/credentials.ts";
import type { Destination, MappingDraft, Webhook } from "../../domain/configuration.ts";
import { invalid, isProblem } from "../../domain/problem.ts";
import type { EndpointView } from "../../engine/endpoint-pipeline.ts";
import type { Configuration, DestinationDraft, Pipeline } from "../../engine/pipeline.ts";

function urlWithKnown(url: string, known: readonly string[]): { url: string; missing: string[] } {
  const { one, missing } = withKnown(
    { url },
    known.map((each) => ({ url: each })),
  );
  return { url: one.url, missing };
}

export function destinationEntries(
  { configuration, endpoints, faults }: Pipeline,
  { destinations = [] }: ConfigurationDocument,
  endpointsUrl: string,
) {
  const all = endpoints.list();
  const inFront = new Map(all.map((endpoint) => [endpoint.inFrontOf?.webhookId, endpoint]));
  const pathOfEndpoint = (reference: string): string | undefined =>
    all.find(({ name, path }) => reference === path || reference === name)?.path;
  return destinations.map(({ sources, sharedSecret, webhooks, mappings, ...draft }, index) => {
    const unknown = webhooks.find(
      ({ endpoint }) => endpoint !== undefined && pathOfEndpoint(endpoint) === undefined,
    );
    const existing = configuration
      .destinations()
      .find((destination) => destination.name === draft.name);
    const endpointAt = (path: string | undefined) =>
      endpoints.list().find((endpoint) => endpoint.path === path);
    const there = existing?.webhooks ?? [];
    const drafts = webhooks.map(({ endpoint, url = "", headers = {}, behind }) => ({
      // The address of an endpoint is another one in another installation.
      here: endpoint === undefined ? url : `${endpointsUrl}/${pathOfEndpoint(endpoint)}`,
      ...{ headers, behind },
    }));
    const known = webhooksMeant(drafts, there, (id) => inFront.get(id));
    const merged = drafts.map(({ here, headers, behind }, place) => {
      const one = known[place];
      if (one === undefined) return withKnown({ url: here, headers }, there);
      const isLinked = behind !== undefined || inFront.has(one.id);
      return withKnown({ url: isLinked ? one.url : here, headers }, [one, ...there]);
    });
    const mapped = mappings?.map((mapping) => mappingWithKnown(mapping, existing?.mappings ?? []));
    const isSecretLeftOut = sharedSecret === leftOut;
    const missing = [
      ...[...merged, ...(mapped ?? [])].flatMap((one) => one.missing),
      ...(isSecretLeftOut && (existing?.sharedSecret ?? null) === null
        ? ["the shared secret"]
        : []),
    ].map((value) => `${draft.name}: ${value}`);
    const apply = () => {
      if (unknown !== undefined)
        return invalid(`no test endpoint has the name or path ${unknown.endpoint}.`);
      const sourceIds: DestinationDraft["sourceIds"] = [];
      for (const reference of sources) {
        const source = findSource(configuration, reference);
        if (source === undefined)
          return invalid(`no source has the write key or name ${reference}.`);
        sourceIds.push(source.id);
      }
      // Audiences say by themselves where they go.
      for (const id of existing?.sourceIds ?? [])
        if (configuration.source(id)?.kind === "audience") sourceIds.push(id);
      const complete: DestinationDraft = {
        ...draft,
        sourceIds,
        webhooks: merged.map(({ one }) => one),
        ...(mapped === undefined ? {} : { mappings: mapped.map(({ one }) => one) }),
      };
      if (sharedSecret !== undefined && !isSecretLeftOut)
        complete.sharedSecret = sharedSecret === "" ? null : sharedSecret;
      const applied =
        existing === undefined
          ? configuration.createDestination(complete)
          : configuration.updateDestination(existing.id, complete);
      return isProblem(applied) ? applied : linkAll(applied);
    };
    const linkAll = (destination: Destination) => {
      for (const [place, { behind }] of webhooks.entries()) {
        const webhook = destination.webhooks[place];
        const endpoint = endpointAt(behind?.endpoint);
        if (behind === undefined || webhook === undefined) continue;
        if (endpoint === undefined)
          return invalid(`there is no test endpoint at the path ${behind.endpoint}.`);
        const { url } = urlWithKnown(behind.url, [
          endpoint.inFrontOf?.url ?? "",
          webhook.url,
          ...endpoint.steps.flatMap(({ to }) => to ?? []),
        ]);
        faults.link(endpoint.id, { destinationId: destination.id, webhookId: webhook.id, url });
      }
      return destination;
    };
    return { what: `destinations[${index}]`, exists: existing !== undefined, missing, apply };
  });
}

type WebhookDraft = { here: string; behind?: { endpoint: string; url: string } | undefined };

/**
 * For each webhook of the document, which of those that are there it means. A fault belongs to the
 * webhook that it is in front of, whichever of one URL comes first.
 */
function webhooksMeant(
  drafts: readonly WebhookDraft[],
  there: readonly Webhook[],
  faultOf: (id: Webhook["id"]) => EndpointView | undefined,
): (Webhook | undefined)[] {
  const free = [...there];
  const take = (isMeant: (one: Webhook) => boolean): Webhook | undefined => {
    const place = free.findIndex(isMeant);
    return place < 0 ? undefined : free.splice(place, 1)[0];
  };
  const byFault = drafts.map(
    ({ behind }) => behind && take(({ id }) => faultOf(id)?.path === behind.endpoint),
  );
  return drafts.map(
    ({ here, behind }, place) =>
      byFault[place] ??
      take(({ id, url }) => {
        const fault = faultOf(id);
        if (behind !== undefined && fault !== undefined) return false;
        const own = fault?.inFrontOf?.url ?? url;
        return [own, urlWithoutCredentials(own)].includes(behind?.url ?? here);
      }),
  );
}

function mappingWithKnown(draft: MappingDraft, known: readonly MappingDraft[]) {
  return withKnown(
    draft,
    known.filter(({ name }) => name === draft.name),
  );
}

function findSource(configuration: Configuration, reference: string) {
  return configuration.sourceByWriteKey(reference) ?? sourceNamed(configuration, reference);
}

/** Those of audiences are not in a document. */
export function sourceNamed(configuration: Configuration, name: string) {
  return configuration
    .sources()
    .find((source) => source.name === name && source.kind !== "audience");
}
