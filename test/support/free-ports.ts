import { once } from "node:events";
import { createServer } from "node:net";

const roles = ["ingest", "ui", "endpoints", "endpoints-tls"] as const;

/** Flags with which a Hookyard listens on ports that the system picks. */
export const freePorts = roles.flatMap((role) => [`--${role}-port`, "0"]);

/** Of a Hookyard that ends and starts again on its ports. */
export async function lastingPorts(): Promise<string[]> {
  const ports = await Promise.all(roles.map(lastingPort));
  return roles.flatMap((role, place) => [`--${role}-port`, String(ports[place])]);
}

/**
 * Each worker of the tests has its own, so two tests that run at the same time never have the same
 * port. A run begins anywhere among them: a run before may have left connections that still close.
 */
const portsOfWorker = 1_375;
const firstPort = 10_000 + portsOfWorker * (Number(process.env["VITEST_POOL_ID"] ?? 0) % 16);
let taken = Math.floor(Math.random() * portsOfWorker);

/**
 * A port for a server that ends and starts again on it. Between the two, the system may give a port
 * that it has picked itself to any other program, to a connection that leaves too. It picks none
 * below 32,768.
 */
export async function lastingPort(): Promise<number> {
  for (;;) {
    taken += 1;
    const port = firstPort + (taken % portsOfWorker);
    const server = createServer().listen(port, "127.0.0.1");
    const isFree = await once(server, "listening").then(
      () => true,
      () => false,
    );
    if (!isFree) continue;
    server.close();
    await once(server, "close");
    return port;
  }
}
