/**
 * The test endpoints: what they are, where their programs stand, what they have received, and the ports they listen
 * on. Used through the control API. They know deliveries only as requests that arrive, like anybody's.
 */

import type { Step, TestEndpoint } from "../../domain/configuration.ts";
import { endpointIds } from "../../domain/ids.ts";
import type { EndpointId, ReceivedRequestId } from "../../domain/ids.ts";
import { isProblem, notFound } from "../../domain/problem.ts";
import type { Problem } from "../../domain/problem.ts";
import { matches, Program, type MessageFacts } from "../../domain/program.ts";
import { drawUnit } from "../../domain/random.ts";
import type { Clock } from "../clock/clock.ts";
import type { Holds } from "../clock/activity.ts";
import type { Changes, Endpoints, EndpointView } from "../pipeline.ts";
import type { ConfigurationStore } from "../store-ports.ts";
import { urlOf } from "../http-port.ts";
import type { Authority } from "./authority.ts";
import { checkDraft } from "./endpoint-draft.ts";
import { answerJson, createEndpointServer } from "./endpoint-server.ts";
import type { EndpointRequest } from "./endpoint-server.ts";
import { readMessageFacts } from "./message-facts.ts";
import { presets } from "./presets.ts";
import { ReceivedRequests } from "./received-requests.ts";
import type { KnownSecret } from "./received-requests.ts";
import { serveStep } from "./serve-step.ts";
import type { Serving } from "./serve-step.ts";

export type EndpointsOptions = {
  store: Pick<ConfigurationStore, "endpoints" | "insertEndpoint" | "updateEndpoint" | "deleteEndpoint">;
  clock: Clock;
  holds: Holds;
  changes: Changes;
  authority: Authority;
  seed: () => number;
  secrets: () => KnownSecret[];
  host: string;
  port: number;
  tlsPort: number;
};

type RunningEndpoints = Endpoints & {
  /** Rejects with Node's own error when a port is taken. */
  start(): Promise<{ url: string; tlsUrl: string }>;
  /** Ends all sockets at once. */
  stop(): Promise<void>;
  /** Takes over what the store has now, after it was changed behind our back. */
  reload(): void;
};

/** What a request gets that no step takes. */
const noStep: Step = { do: "answer" };

type Runtime = {
  endpoint: TestEndpoint;
  program: Program;
  received: ReceivedRequests;
  serving: Set<Serving>;
};

export function createEndpoints(options: EndpointsOptions): RunningEndpoints {
  const { store, clock, holds, changes, authority, seed, secrets, host } = options;
  const byId = new Map<EndpointId, Runtime>();
  const byPath = new Map<string, Runtime>();
  let ports = { port: options.port, tlsPort: options.tlsPort };
  let lastReceived = 0;

  const add = (endpoint: TestEndpoint): Runtime => {
    const runtime = {
      endpoint,
      program: new Program(endpoint.steps, endpoint.after),
      received: new ReceivedRequests(endpoint.id, secrets),
      serving: new Set<Serving>(),
    };
    byId.set(endpoint.id, runtime);
    byPath.set(endpoint.path, runtime);
    return runtime;
  };

  const remove = ({ endpoint, serving }: Runtime): void => {
    byId.delete(endpoint.id);
    if (byPath.get(endpoint.path)?.endpoint.id === endpoint.id) byPath.delete(endpoint.path);
    for (const each of serving) each.abandon();
  };

  const change = (runtime: Runtime, endpoint: TestEndpoint, newSteps: boolean): void => {
    const { program } = runtime;
    if (byPath.get(runtime.endpoint.path) === runtime) byPath.delete(runtime.endpoint.path);
    byPath.set(endpoint.path, runtime);
    runtime.endpoint = endpoint;
    program.continueWith(endpoint.after);
    if (newSteps) program.replaceSteps(endpoint.steps);
  };

  const noteChange = (id: EndpointId): void => changes.note("endpoints", endpointIds.format(id));

  const urls = () => ({
    url: urlOf(host, ports.port),
    // The name decides the certificate: the same path at expired.localhost, wrong-host.localhost and valid.localhost shows the others.
    tlsUrl: `https://self-signed.localhost:${ports.tlsPort}`,
  });

  const view = ({ endpoint, program }: Runtime): EndpointView => {
    const { url, tlsUrl } = urls();
    return { ...endpoint, url: `${url}/${endpoint.path}`, tlsUrl: `${tlsUrl}/${endpoint.path}`, position: program.position() };
  };

  const receive = (request: EndpointRequest): void => {
    const runtime = byPath.get(pathOf(request.url));
    if (runtime === undefined) {
      answerJson(
        request.response,
        404,
        "not_found",
        `There is no test endpoint at ${request.url}. Its page in the inspector shows its address.`,
      );
      return;
    }
    const { endpoint, program, received, serving } = runtime;
    const facts = once(() => readMessageFacts(request.body));
    const index = request.tooLarge ? null : program.serve({ fits: (match) => matches(match, facts()), draw: draw(endpoint.id) });
    const step = index === null ? undefined : endpoint.steps[index];
    lastReceived += 1;
    const entry = received.add({
      id: lastReceived as ReceivedRequestId,
      receivedAt: clock.now(),
      tls: request.tls,
      method: request.method,
      path: request.url,
      rawHeaders: request.rawHeaders,
      body: request.body,
      bodyLength: request.bodyLength,
      step: index,
      did: step?.do ?? "default",
      status: null,
    });
    // The endpoint's id: readers of its list and of its position want to know which endpoint to read again.
    changes.note("received", endpointIds.format(endpoint.id), true);
    if (request.tooLarge) {
      entry.status = 413;
      answerJson(request.response, 413, "too_large", "A test endpoint takes bodies up to 1 MB.");
      return;
    }
    const answered = (status: number): void => {
      entry.status = status;
    };
    const held = serveStep({ step: step ?? noStep, path: endpoint.path, exchange: request, clock, holds, answered });
    if (held === null) return;
    serving.add(held);
    request.response.once("close", () => serving.delete(held));
  };

  const draw = (id: EndpointId) => (step: number, nth: number) => drawUnit(seed(), id, step, nth);

  const server = createEndpointServer({ host, port: options.port, tlsPort: options.tlsPort, authority, receive });

  const taken = (path: string): boolean => byPath.has(path);
  for (const endpoint of store.endpoints()) add(endpoint);

  return {
    list: () => Array.from(byId.values(), view),
    get(id) {
      const runtime = byId.get(id);
      return runtime === undefined ? undefined : view(runtime);
    },
    create(draft) {
      const checked = checkDraft(draft, null, taken);
      if (isProblem(checked)) return checked;
      const runtime = add(store.insertEndpoint({ ...checked, createdAt: clock.now() }));
      noteChange(runtime.endpoint.id);
      return view(runtime);
    },
    update(id, draft) {
      const runtime = byId.get(id);
      if (runtime === undefined) return missing(id);
      const checked = checkDraft(draft, runtime.endpoint, taken);
      if (isProblem(checked)) return checked;
      const endpoint = { ...runtime.endpoint, ...checked };
      store.updateEndpoint(endpoint);
      change(runtime, endpoint, draft.steps !== undefined);
      noteChange(id);
      return view(runtime);
    },
    delete(id) {
      const runtime = byId.get(id);
      if (runtime === undefined) return missing(id);
      store.deleteEndpoint(id);
      remove(runtime);
      noteChange(id);
      return null;
    },
    rewind(id) {
      const runtime = byId.get(id);
      if (runtime === undefined) return missing(id);
      runtime.program.rewind();
      noteChange(id);
      return view(runtime);
    },
    received(id, limit, before) {
      return byId.get(id)?.received.list(limit, before) ?? missing(id);
    },
    clearReceived(id) {
      const runtime = byId.get(id);
      if (runtime === undefined) return missing(id);
      runtime.received.clear();
      changes.note("received", endpointIds.format(id));
      return null;
    },
    presets: () => presets,
    async start() {
      ports = await server.start();
      return urls();
    },
    async stop() {
      for (const { serving } of byId.values()) for (const each of serving) each.abandon();
      await server.stop();
    },
    reload() {
      const stored = new Map(store.endpoints().map((endpoint) => [endpoint.id, endpoint]));
      for (const runtime of byId.values()) {
        // After a reset ids start again: the same id may be another endpoint.
        const { id, createdAt, steps } = runtime.endpoint;
        const now = stored.get(id);
        if (now?.createdAt === createdAt) change(runtime, now, JSON.stringify(now.steps) !== JSON.stringify(steps));
        else remove(runtime);
      }
      for (const endpoint of stored.values()) if (!byId.has(endpoint.id)) add(endpoint);
      changes.note("endpoints", null);
    },
  };
}

function missing(id: EndpointId): Problem {
  return notFound("test endpoint", endpointIds.format(id));
}

/** An endpoint answers at its path with any query, with a closing slash too, and when a client sends the whole URL. */
function pathOf(url: string): string {
  const path = url.startsWith("/") ? url : url.replace(/^[a-z]+:\/\/[^/?]*/i, "");
  return path.replace(/[?#].*$/s, "").replace(/^\/|\/$/g, "");
}

/** An address that a client can connect to, also when we listen on all of them. */
function once(read: () => MessageFacts): () => MessageFacts {
  let value: MessageFacts | null = null;
  return () => (value ??= read());
}
