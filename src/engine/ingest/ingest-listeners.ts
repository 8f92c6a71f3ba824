/**
 * Where the ingest port listens: its address, `[::1]` beside `127.0.0.1`, and TLS when it is on.
 * All connections are those of one HTTP server, so that its limits and deadlines hold for each.
 * `ingest.ts` starts and stops it.
 */

import type { Server as HttpServer } from "node:http";
import { createServer as createNetServer, type Server, type Socket } from "node:net";
import { createServer as createTlsServer, type TLSSocket } from "node:tls";
import { problem, type Problem } from "../../domain/problem.ts";
import type { Identity } from "../endpoints/authority.ts";
import { close, listen, urlOf } from "../http-port.ts";
import { startTimer } from "../real-time.ts";

/** As long as the headers of a request may take. */
const usualHandshakeMs = 10_000;

/** Requests in progress get this long to end. */
const stopMs = 1000;

export type ListenerOptions = {
  host: string;
  port: number;
  /** Null: no TLS. */
  tlsPort: number | null;
  identity: () => Identity;
  log: (sentence: string) => void;
  handshakeMs?: number;
};

type IngestUrls = { url: string; tlsUrl: string | null };

export function createIngestListeners(
  server: HttpServer,
  { host, port, tlsPort, identity, log, handshakeMs = usualHandshakeMs }: ListenerOptions,
  onRefused: (socket: Socket, wrong: Problem) => void,
) {
  const others: Server[] = [];
  const handshakes = new Set<Socket>();

  const plainServer = (): Server =>
    createNetServer({ allowHalfOpen: true, noDelay: true }, (socket) =>
      server.emit("connection", socket),
    );

  function tlsServer(): Server {
    let current = identity();
    const tls = createTlsServer(
      { ...current, handshakeTimeout: handshakeMs, ALPNProtocols: ["http/1.1"] },
      (socket: TLSSocket) => {
        // As the plain ports have it. An option of the server would hold for handshakes too, and
        // keep those open whose client has gone.
        socket.allowHalfOpen = true;
        server.emit("connection", socket);
      },
    );
    tls.prependListener("connection", (socket: Socket) => {
      // The certificate is renewed while Hookyard runs.
      const next = identity();
      if (next !== current) tls.setSecureContext(next);
      current = next;
      handshakes.add(socket);
      socket.once("close", () => handshakes.delete(socket));
    });
    tls.on("tlsClientError", (error: NodeJS.ErrnoException, socket: TLSSocket) => {
      const wrong = problemOfHandshake(error);
      if (wrong !== null) onRefused(socket, wrong);
      socket.destroy();
    });
    return tls;
  }

  async function open(other: Server, address: string, wanted: number): Promise<number> {
    const chosen = await listen(other, address, wanted);
    others.push(other);
    return chosen;
  }

  /** For clients that resolve `localhost` to it. */
  async function openIpv6(other: Server, wanted: number): Promise<void> {
    if (host !== "127.0.0.1") return;
    try {
      await open(other, "::1", wanted);
    } catch (error) {
      const isTaken = (error as NodeJS.ErrnoException).code === "EADDRINUSE";
      log(
        isTaken
          ? `Ingest listens on 127.0.0.1:${wanted} only: another program uses [::1]:${wanted}.`
          : `Ingest listens on 127.0.0.1:${wanted} only: this machine has no IPv6 loopback.`,
      );
    }
  }

  async function stop(): Promise<void> {
    const limit = startTimer(stopMs, () => {
      server.closeAllConnections();
      for (const socket of handshakes) socket.destroy();
    });
    const closed = others
      .splice(0)
      .map((other) => new Promise<void>((resolve) => other.close(() => resolve())));
    await Promise.all([close(server, stopMs), ...closed]);
    limit.cancel();
  }

  return {
    async start(): Promise<IngestUrls> {
      const chosen = await listen(server, host, port);
      try {
        await openIpv6(plainServer(), chosen);
        const url = urlOf(host, chosen);
        if (tlsPort === null) return { url, tlsUrl: null };
        const chosenTls = await open(tlsServer(), host, tlsPort);
        await openIpv6(tlsServer(), chosenTls);
        return { url, tlsUrl: urlOf(host, chosenTls).replace("http:", "https:") };
      } catch (error) {
        await stop();
        throw error;
      }
    },
    stop,
  };
}

/** Null for one that says nothing about the client, as when it disconnects. */
function problemOfHandshake({ code }: NodeJS.ErrnoException): Problem | null {
  switch (code) {
    case "ERR_SSL_HTTP_REQUEST":
      return problem(
        400,
        "http_on_tls_port",
        "This port is TLS, and the client speaks plain HTTP. Use https://, not http://.",
      );
    case "ERR_SSL_TLSV1_ALERT_UNKNOWN_CA":
    case "ERR_SSL_SSLV3_ALERT_BAD_CERTIFICATE":
    case "ERR_SSL_SSL/TLS_ALERT_BAD_CERTIFICATE":
    case "ERR_SSL_SSLV3_ALERT_CERTIFICATE_UNKNOWN":
    case "ERR_SSL_SSL/TLS_ALERT_CERTIFICATE_UNKNOWN":
      return problem(
        400,
        "certificate_not_trusted",
        "The client does not trust the certificate of this port.",
      );
    default:
      return null;
  }
}
