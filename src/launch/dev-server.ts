/**
 * Vite's server for the dev loops: the inspector from its sources, and word of changes in the
 * sources of the engine.
 */

import { join, relative, sep } from "node:path";
import { createServer, type ProxyOptions } from "vite";
import { root } from "./build.ts";
import { rendererConfig } from "./renderer-config.ts";

type DevServer = { url: string; stop(): Promise<void> };

const sources = join(root, "src");
const isOfEngine = (file: string): boolean =>
  file.startsWith(sources + sep) &&
  !/^(?:renderer|launch|testing)\b|\.test\.tsx?$/.test(relative(sources, file));

/** `port` 0 is a free one. */
export async function startDevServer({
  host,
  port,
  proxy = {},
  engineChanged,
}: {
  host: string;
  port: number;
  proxy?: Record<string, ProxyOptions>;
  engineChanged: () => void;
}): Promise<DevServer> {
  const listeners = process.listeners("SIGTERM");
  const server = await createServer({
    ...rendererConfig,
    configFile: false,
    cacheDir: join(root, "node_modules", ".cache", "vite"),
    clearScreen: false,
    // Pages of other origins get nothing here, as from the built program.
    server: { host, port, strictPort: true, cors: false, proxy },
  });
  // Vite's own would end the process while the engine still stops.
  for (const added of process
    .listeners("SIGTERM")
    .filter((listener) => !listeners.includes(listener)))
    process.off("SIGTERM", added);
  server.watcher.add(sources);
  server.watcher.on("all", (event, file) => {
    if ((event === "add" || event === "change" || event === "unlink") && isOfEngine(file))
      engineChanged();
  });
  await server.listen();
  const { local = [], network = [] } = server.resolvedUrls ?? {};
  return { url: new URL([...local, ...network][0] ?? "").origin, stop: () => server.close() };
}
