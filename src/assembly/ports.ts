/** What listens: the ingest port, the test endpoints on their two ports; and the clients of the pipeline itself. */

import { PortTaken, type PortRole } from "../app-errors.ts";
import { createClients } from "../engine/clients/clients.ts";
import { createEndpoints } from "../engine/endpoints/endpoints.ts";
import { createIngestClient } from "../engine/messages.ts";
import { Ingest } from "../engine/ingest/ingest.ts";
import { createUpkeep } from "../engine/upkeep.ts";
import type { Core } from "./core.ts";
import type { createDelivery } from "./delivery.ts";

export type Addresses = { ingestUrl: string; endpointsUrl: string; endpointsTlsUrl: string; dataDir: string | null };

type PortsOptions = {
  host: string;
  /** 0 picks a free one. */
  ports: { ingest: number; endpoints: number; endpointsTls: number };
  dataDir: string | null;
};

export function createPorts(core: Core, { authority, trust }: ReturnType<typeof createDelivery>, { host, ports, dataDir }: PortsOptions) {
  const { configuration, signals } = core;
  const addresses: Addresses = { ingestUrl: "", endpointsUrl: "", endpointsTlsUrl: "", dataDir };
  const ingestUrl = (): string => addresses.ingestUrl;
  const upkeep = createUpkeep({ ...core, settings: () => configuration.settings() });
  const ingest = new Ingest({
    ...core,
    onCommitted(messages, origin) {
      signals.committed.emit(messages, origin);
      upkeep.kick();
    },
    host,
    port: ports.ingest,
  });
  const endpoints = createEndpoints({
    ...core,
    authority,
    trust,
    secrets: () =>
      configuration
        .destinations()
        .flatMap(({ id, name, sharedSecret }) => (sharedSecret === null ? [] : [{ destinationId: id, name, secret: sharedSecret }])),
    host,
    port: ports.endpoints,
    tlsPort: ports.endpointsTls,
  });

  async function listening<T>(role: PortRole, port: number, start: () => Promise<T>): Promise<T> {
    try {
      return await start();
    } catch (error) {
      if (!isAddressInUse(error)) throw error;
      const isTls = role === "endpoints" && error.port === ports.endpointsTls;
      throw new PortTaken({ port: error.port ?? port, role: isTls ? "endpointsTls" : role });
    }
  }

  return {
    addresses,
    upkeep,
    ingest,
    endpoints,
    ingestClient: createIngestClient({ ingestUrl }),
    clients: createClients({ ...core, trust, ingestUrl }),
    /** Rejects with `PortTaken`. */
    async listen(): Promise<void> {
      addresses.ingestUrl = await listening("ingest", ports.ingest, () => ingest.start());
      const { url, tlsUrl } = await listening("endpoints", ports.endpoints, () => endpoints.start());
      addresses.endpointsUrl = url;
      addresses.endpointsTlsUrl = tlsUrl;
    },
  };
}

function isAddressInUse(error: unknown): error is NodeJS.ErrnoException & { port?: number } {
  return error instanceof Error && (error as NodeJS.ErrnoException).code === "EADDRINUSE";
}
