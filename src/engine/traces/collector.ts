/**
 * Where traces are sent. An address that somebody names is used as it is. The environment variable
 * that all programs with OpenTelemetry read may be set for others: it counts only when it names
 * this machine, because Hookyard connects to nowhere else unless it is asked.
 */

import { invalid, type Problem } from "../../domain/problem.ts";

const collectorVariable = "OTEL_EXPORTER_OTLP_ENDPOINT";

const ownHosts = /^(?:localhost|.*\.localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;

/** The full address for traces, null when there is none, or what is wrong with it. */
export function collectorUrl(
  named: string | undefined,
  environment: Readonly<Record<string, string | undefined>>,
): string | null | Problem {
  const given = named ?? (environment[collectorVariable]?.trim() || undefined);
  if (given === undefined) return null;
  const url = URL.parse(given);
  if (url === null || !/^https?:$/.test(url.protocol))
    return invalid("The collector of traces needs an address such as http://127.0.0.1:4318.");
  if (url.username !== "" || url.password !== "")
    return invalid("The address of the collector of traces must not contain credentials.");
  if (named === undefined && !ownHosts.test(url.hostname))
    return invalid(
      `${collectorVariable} names another machine, so no traces are sent. To send them there, name the address with --traces.`,
    );
  if (!url.pathname.endsWith("/v1/traces"))
    url.pathname = `${url.pathname.replace(/\/$/, "")}/v1/traces`;
  url.hash = "";
  return url.href;
}
