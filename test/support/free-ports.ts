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
 * A port for a server that ends and starts again on it. Between the two, the system may give a port
 * that it has picked itself to any other program, to a connection that leaves too. It picks none
 * below 32,768.
 */
export async function lastingPort(): Promise<number> {
  for (;;) {
    const port = 10_000 + Math.floor(Math.random() * 22_000);
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
