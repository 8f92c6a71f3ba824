/**
 * Where traces are sent. An address that somebody names is used as it is. The environment variables
 * that all programs with OpenTelemetry read may be set for others: they count only when they name
 * this machine, because Hookyard connects to nowhere else unless it is asked.
 */

import { invalid, isProblem, type Problem } from "../../domain/problem.ts";

export type Collector = {
  /** The full address for traces. */
  url: string;
  /** Sent with every request, such as a key of the collector. */
  headers: Readonly<Record<string, string>>;
};

type Environment = Readonly<Record<string, string | undefined>>;

const ownHosts = /^(?:localhost|.*\.localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;

/** Null when there is none; or what is wrong with it. */
export function collectorOf(
  named: string | undefined,
  environment: Environment,
): Collector | null | Problem {
  const url = named === undefined ? urlIn(environment) : urlOf(named);
  if (url === null || isProblem(url)) return url;
  const headers = headersIn(environment);
  return isProblem(headers) ? headers : { url, headers };
}

function urlOf(given: string, isComplete = false): string | Problem {
  const url = URL.parse(given);
  if (url === null || !/^https?:$/.test(url.protocol))
    return invalid("The collector of traces needs an address such as http://127.0.0.1:4318.");
  if (url.username !== "" || url.password !== "")
    return invalid("The address of the collector of traces must not contain credentials.");
  if (!isComplete && !url.pathname.endsWith("/v1/traces"))
    url.pathname = `${url.pathname.replace(/\/$/, "")}/v1/traces`;
  url.hash = "";
  return url.href;
}

/** The variable for traces has the full address, the one for all signals its beginning. */
function urlIn(environment: Environment): string | null | Problem {
  const set = setIn(environment);
  const endpoint = set("TRACES_ENDPOINT") ?? set("ENDPOINT");
  const exporters = environment["OTEL_TRACES_EXPORTER"]?.trim() || "otlp";
  const isOff =
    environment["OTEL_SDK_DISABLED"]?.toLowerCase() === "true" ||
    !exporters.split(",").some((one) => one.trim() === "otlp");
  if (endpoint === undefined || isOff) return null;
  const url = urlOf(endpoint.value, endpoint.name.includes("TRACES"));
  if (isProblem(url)) return url;
  if (!ownHosts.test(new URL(url).hostname))
    return invalid(
      `${endpoint.name} names another machine, so no traces are sent. To send them there, name the address with --traces.`,
    );
  const protocol = set("TRACES_PROTOCOL") ?? set("PROTOCOL");
  return protocol?.value === "grpc"
    ? invalid(
        `${protocol.name} is grpc, so no traces are sent: Hookyard speaks OTLP over HTTP. Name the collector's address for that with --traces.`,
      )
    : url;
}

function setIn(environment: Environment) {
  return (what: string): { name: string; value: string } | undefined => {
    const name = `OTEL_EXPORTER_OTLP_${what}`;
    const value = environment[name]?.trim();
    return value ? { name, value } : undefined;
  };
}

/** `name=value,name=value`; a value may be percent-encoded. It may be a secret. */
function headersIn(environment: Environment): Record<string, string> | Problem {
  const set = setIn(environment);
  const { name: variable, value: text } = set("TRACES_HEADERS") ?? set("HEADERS") ?? {};
  const headers: Record<string, string> = {};
  for (const pair of text?.split(",") ?? []) {
    if (pair.trim() === "") continue;
    const [, name, encoded] = /^\s*([!#$%&'*+\-.^_`|~\w]+)\s*=\s*(.*?)\s*$/.exec(pair) ?? [];
    const value = encoded === undefined ? undefined : decoded(encoded);
    if (name === undefined || value === undefined || !/^[\t\x20-\x7e\x80-\xff]*$/.test(value))
      return invalid(
        `${variable} must be name=value, with commas between several and values percent-encoded, so no traces are sent.`,
      );
    headers[name] = value;
  }
  return headers;
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
