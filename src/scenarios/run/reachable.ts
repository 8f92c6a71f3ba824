/**
 * Checks before a scenario begins that something listens at its URLs: a receiver that was not
 * started is an error of the user, and not four hours of refused connections. A connection is made
 * and closed; nothing is sent.
 */

import { connect } from "node:net";
import { withLoopback } from "../../engine/deliver/dial.ts";
import { isUrl, stepsOf, type FileDestination, type FileEndpoint } from "../file/setup-schema.ts";
import type { FileProblem, Path } from "../file/yaml-places.ts";
import type { ReadScenario } from "../file/scenario-schema.ts";

/** A port of this machine answers at once; one far away gets as long as an attempt has. */
const patienceMs = 5000;

export async function findUnreachable({ scenario, file }: ReadScenario): Promise<FileProblem[]> {
  const urls: { url: string; path: Path }[] = [];
  const add = (destination: Pick<FileDestination, "webhooks" | "mappings">, path: Path): void => {
    for (const kind of ["webhooks", "mappings"] as const)
      for (const [index, { url, mayBeDown }] of (destination[kind] ?? []).entries()) {
        // Of a mapping, it may depend on the message.
        if (typeof url === "string" && mayBeDown !== true)
          urls.push({ url, path: [...path, kind, index, "url"] });
      }
  };
  const addForwards = (endpoint: FileEndpoint, path: Path): void => {
    for (const [index, { to, lose, mayBeDown }] of stepsOf(endpoint).entries()) {
      const isAsked = to !== undefined && isUrl(to) && lose !== "request" && mayBeDown !== true;
      if (isAsked)
        urls.push({
          url: to,
          path: [...path, ...(Array.isArray(endpoint) ? [] : ["steps"]), index, "to"],
        });
    }
  };
  for (const [name, destination] of Object.entries(scenario.destinations ?? {}))
    add(destination, ["destinations", name]);
  for (const [name, endpoint] of Object.entries(scenario.endpoints ?? {}))
    addForwards(endpoint, ["endpoints", name]);
  for (const [index, step] of scenario.steps.entries()) {
    if (!("change" in step)) continue;
    for (const [name, destination] of Object.entries(step.change.destinations ?? {}))
      add(destination, ["steps", index, "change", "destinations", name]);
    for (const [name, endpoint] of Object.entries(step.change.endpoints ?? {}))
      addForwards(endpoint, ["steps", index, "change", "endpoints", name]);
  }
  const found = await Promise.all(
    urls.map(async ({ url, path }): Promise<FileProblem[]> => {
      const reason = await whyUnreachable(new URL(url));
      return reason === null
        ? []
        : [
            {
              ...file.placeOf(path),
              message: `${reason} Start the receiver first, or write mayBeDown: true beside the url.`,
            },
          ];
    }),
  );
  return found.flat();
}

function whyUnreachable({ hostname, port, protocol }: URL): Promise<string | null> {
  const host = hostname.replace(/^\[(.*)\]$/, "$1");
  const number = port === "" ? (protocol === "https:" ? 443 : 80) : Number(port);
  const place = `${hostname}:${number}`;
  return new Promise((resolve) => {
    const socket = connect({ host, port: number, ...withLoopback(host) });
    const end = (reason: string | null): void => {
      socket.destroy();
      resolve(reason);
    };
    socket.setTimeout(patienceMs, () => end(`${place} does not answer.`));
    socket.once("connect", () => end(null));
    socket.once("error", (error: NodeJS.ErrnoException) =>
      end(
        error.code === "ENOTFOUND"
          ? `The host name ${hostname} has no address.`
          : `Nothing listens at ${place}.`,
      ),
    );
  });
}
