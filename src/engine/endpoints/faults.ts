/**
 * Test endpoints in front of webhooks: `put` makes one that forwards to the webhook's URL and
 * points the webhook at it, `undo` restores what was there. The endpoint says which webhook it is
 * in front of, so an undo works after a restart too.
 */

import type { Destination, Step, TestEndpoint, Webhook } from "../../domain/configuration.ts";
import {
  destinationIds,
  endpointIds,
  webhookIds,
  type DestinationId,
  type EndpointId,
  type WebhookId,
} from "../../domain/ids.ts";
import { conflict, isProblem, notFound, type Problem } from "../../domain/problem.ts";
import type { Endpoints, EndpointView, Faults } from "../endpoint-pipeline.ts";
import type { Configuration } from "../pipeline.ts";
import type { Atomically } from "../profile-ports.ts";

type FaultsOptions = {
  store: Atomically;
  configuration: Pick<Configuration, "destinations" | "destination" | "pointWebhook"> & {
    reload(): void;
  };
  endpoints: Endpoints & { reload(): void };
};

type Place = { destination: Destination; webhook: Webhook };

export function createFaults({ store, configuration, endpoints }: FaultsOptions): Faults {
  /** All or nothing, in the store and in memory. */
  function atomically<Result>(write: () => Result): Result {
    try {
      return store.atomically(write);
    } catch (error) {
      configuration.reload();
      endpoints.reload();
      throw error;
    }
  }

  function placeOf(id: DestinationId, webhookId: WebhookId): Place | Problem {
    const destination = configuration.destination(id);
    if (destination === undefined) return notFound("destination", destinationIds.format(id));
    const webhook = destination.webhooks.find((one) => one.id === webhookId);
    return webhook === undefined
      ? notFound("webhook", webhookIds.format(webhookId))
      : { destination, webhook };
  }

  const inFrontOf = (webhook: WebhookId): EndpointView | undefined =>
    endpoints.list().find((one) => one.inFrontOf?.webhookId === webhook);

  /** The webhook may have been deleted, or given another URL, which makes it another webhook. */
  const behind = ({ inFrontOf }: TestEndpoint): Place | null => {
    if (!inFrontOf) return null;
    const place = placeOf(inFrontOf.destinationId, inFrontOf.webhookId);
    return isProblem(place) ? null : place;
  };

  function restore({ destination, webhook }: Place, endpoint: EndpointView): void {
    atomically(() => {
      configuration.pointWebhook(
        destination.id,
        webhook.id,
        endpoint.inFrontOf?.url ?? webhook.url,
      );
      const addresses = [endpoint.url, endpoint.tlsUrl];
      const isUsed = configuration
        .destinations()
        .some(({ webhooks }) => webhooks.some(({ url }) => addresses.includes(url)));
      if (isUsed) endpoints.update(endpoint.id, { inFrontOf: null });
      else endpoints.delete(endpoint.id);
    });
  }

  return {
    behind: (webhook) => inFrontOf(webhook) ?? null,
    put(id, webhookId, fault) {
      const place = placeOf(id, webhookId);
      if (isProblem(place)) return place;
      const { url } = place.webhook;
      if (configuration.destination(id)?.kind === "webhooks-actions")
        return conflict(
          "mapped_url",
          "A mapping gives each request its URL. Point the mapping at a test endpoint with a forward step.",
        );
      const there = inFrontOf(webhookId);
      if (there !== undefined)
        return conflict(
          "already_behind",
          `The webhook is behind the test endpoint ${there.name} already. Undo that first, or change its steps.`,
        );
      return atomically(() => {
        const made = endpoints.create({
          name: `In front of ${new URL(url).host.slice(0, 180)}`,
          steps: stepsFor(url, fault),
          inFrontOf: { destinationId: id, webhookId, url },
        });
        return isProblem(made) ? made : configuration.pointWebhook(id, webhookId, made.url);
      });
    },
    undo(id, webhookId) {
      const place = placeOf(id, webhookId);
      if (isProblem(place)) return place;
      const endpoint = inFrontOf(webhookId);
      if (endpoint === undefined)
        return conflict("not_behind", "No test endpoint is in front of this webhook.");
      restore(place, endpoint);
      return configuration.destination(id) ?? notFound("destination", destinationIds.format(id));
    },
    deleteEndpoint(id: EndpointId) {
      const endpoint = endpoints.get(id);
      if (endpoint === undefined) return notFound("test endpoint", endpointIds.format(id));
      const place = behind(endpoint);
      if (place === null) return endpoints.delete(id);
      restore(place, endpoint);
      return null;
    },
    link(id, inFrontOf) {
      endpoints.update(id, { inFrontOf });
      this.refresh();
    },
    refresh() {
      for (const endpoint of endpoints.list()) {
        const place = behind(endpoint);
        const isListening = new URL(endpoint.url).port !== "0";
        if (place !== null && isListening && place.webhook.url !== endpoint.url)
          configuration.pointWebhook(place.destination.id, place.webhook.id, endpoint.url);
      }
    },
  };
}

/** What the fault leaves out passes unchanged. */
function stepsFor(url: string, fault: Omit<Step, "do" | "to">): Step[] {
  const passOn: Step = { do: "forward", to: url };
  const isForSome =
    fault.times !== undefined || fault.match !== undefined || fault.chance !== undefined;
  return isForSome ? [{ ...passOn, ...fault }, passOn] : [{ ...passOn, ...fault }];
}
