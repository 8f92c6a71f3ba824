/**
 * A document of the configuration names no port of the installation that it comes from: where a URL
 * leads to a port of Hookyard itself, it has `{endpointsPort}`, `{endpointsTlsPort}` or
 * `{ingestPort}` instead, and an import writes the ports of the installation that reads it.
 */

import type { ConfigurationDocument } from "../../contract/configuration.ts";
import type { AboutAnswer } from "../../contract/pipeline.ts";

type Addresses = Pick<AboutAnswer, "ingestUrl" | "endpointsUrl" | "endpointsTlsUrl">;

const ownUrl =
  /^(https?:\/\/(?:127\.0\.0\.1|localhost|\[::1\]|[\w-]+\.localhost)):(\d+)(?=\/|\?|$)/;

export function withoutOwnPorts(
  document: ConfigurationDocument,
  addresses: Addresses,
): ConfigurationDocument {
  const names = new Map(portsOf(addresses).map(([name, port]) => [port, name]));
  return withUrls(document, (url) =>
    url.replace(ownUrl, (whole, origin: string, port: string) => {
      const name = names.get(port);
      return name === undefined ? whole : `${origin}:{${name}}`;
    }),
  );
}

export function withOwnPorts(
  document: ConfigurationDocument,
  addresses: Addresses,
): ConfigurationDocument {
  const ports = portsOf(addresses);
  return withUrls(document, (url) =>
    ports.reduce((text, [name, port]) => text.replace(`:{${name}}`, `:${port}`), url),
  );
}

/** Before they listen, there are none. */
function portsOf({ ingestUrl, endpointsUrl, endpointsTlsUrl }: Addresses): [string, string][] {
  const urls = {
    endpointsPort: endpointsUrl,
    endpointsTlsPort: endpointsTlsUrl,
    ingestPort: ingestUrl,
  };
  return Object.entries(urls).flatMap(([name, url]) => {
    const port = URL.parse(url)?.port ?? "";
    return port === "" ? [] : [[name, port] as [string, string]];
  });
}

function withUrls(
  document: ConfigurationDocument,
  change: (url: string) => string,
): ConfigurationDocument {
  const { destinations, endpoints, clients } = document;
  return {
    ...document,
    ...(endpoints && {
      endpoints: endpoints.map((endpoint) => ({
        ...endpoint,
        steps: endpoint.steps.map((step) =>
          step.to === undefined ? step : { ...step, to: change(step.to) },
        ),
      })),
    }),
    ...(destinations && {
      destinations: destinations.map((destination) => ({
        ...destination,
        webhooks: destination.webhooks.map((webhook) => ({
          ...webhook,
          ...(webhook.url === undefined ? {} : { url: change(webhook.url) }),
          ...(webhook.behind && {
            behind: { ...webhook.behind, url: change(webhook.behind.url) },
          }),
        })),
        ...(destination.mappings && {
          mappings: destination.mappings.map((mapping) =>
            typeof mapping.url === "string" ? { ...mapping, url: change(mapping.url) } : mapping,
          ),
        }),
      })),
    }),
    ...(clients && {
      clients: clients.map((client) =>
        typeof client.endpoint === "string"
          ? { ...client, endpoint: change(client.endpoint) }
          : client,
      ),
    }),
  };
}
