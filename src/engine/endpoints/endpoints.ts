/**
 * The test endpoints for the control API: their settings, the position of their programs, what they
 * have received, and the ports they listen on. They know deliveries only as requests, like those of
 * any client.
 */

import type { Step, TestEndpoint } from "../../domain/configuration.ts";
import { endpointIds } from "../../domain/ids.ts";
import type { EndpointId, ReceivedRequestId } from "../../domain/ids.ts";
import { isProblem, notFound } from "../../domain/problem.ts";
import type { Problem } from "../../domain/problem.ts";
import { matches, Program, type MessageFacts } from "../../domain/program.ts";
import { drawUnit } from "../../domain/random.ts";
import type { Endpoints, EndpointView } from "../endpoint-pipeline.ts";
import type { Changes } from "../pipeline.ts";
import type { ConfigurationStore, EndpointStateStore } from "../store-ports.ts";
import { urlOf } from "../http-port.ts";
import { roomFor } from "../list-room.ts";
import type { Authority } from "./authority.ts";
import { checkDraft, presets } from "./endpoint-draft.ts";
import { answerJson, createEndpointServer } from "./endpoint-server.ts";
import type { EndpointRequest } from "./endpoint-server.ts";
import { createForwarding, type ForwardingOptions } from "./forwarding.ts";
import { readMessageFacts, ReceivedRequests } from "./received-requests.ts";
import type { KnownSecret } from "./received-requests.ts";
import { serveStep } from "./serve-step.ts";
import type { Serving } from "./serve-step.ts";

export type EndpointsOptions = ForwardingOptions & {
  store: Pick<
    ConfigurationStore,
    "endpoints" | "insertEndpoint" | "updateEndpoint" | "deleteEndpoint"
  > &
    EndpointStateStore;
  changes: Changes;
  authority: Authority;
  report: (error: unknown) => void;
  secrets: () => KnownSecret[];
  /** Of all destinations. */
  webhookUrls: () => string[];
  host: string;
  port: number;
  tlsPort: number;
};

type RunningEndpoints = Endpoints & {
  /** Rejects with Node's own error when a port is taken. */
  start(): Promise<{ url: string; tlsUrl: string }>;
  /**
   * Ends all sockets, once receivers that requests were forwarded to have answered or had their
   * time.
   */
  stop(): Promise<void>;
  /** Reads the endpoints again, after the store was changed by others. */
  reload(): void;
};

/** Serves a request that no step serves. */
const noStep: Step = { do: "answer" };

type Unsaved = Omit<TestEndpoint, "id" | "createdAt">;

type Runtime = {
  endpoint: TestEndpoint;
  program: Program;
  received: ReceivedRequests;
  serving: Set<Serving>;
};

export function createEndpoints(options: EndpointsOptions): RunningEndpoints {
  const { store, clock, changes, authority, host } = options;
  const all = createRuntimes(options);
  let ports = { port: options.port, tlsPort: options.tlsPort };
  const forwarding = createForwarding(options);
  const server = createEndpointServer({
    host,
    ...ports,
    authority,
    receive: createReceive(options, forwarding, all.byPath, all.lastReceived()),
  });

  const noteChange = (id: EndpointId): void => changes.note("endpoints", endpointIds.format(id));

  const urls = () => ({
    url: urlOf(host, ports.port),
    // The host name chooses the certificate: expired.localhost, wrong-host.localhost and
    // valid.localhost show the others.
    tlsUrl: `https://self-signed.localhost:${ports.tlsPort}`,
  });

  const view = ({ endpoint, program }: Runtime): EndpointView => {
    const { url, tlsUrl } = urls();
    const { path } = endpoint;
    return {
      ...endpoint,
      url: `${url}/${path}`,
      tlsUrl: `${tlsUrl}/${path}`,
      position: program.position(),
    };
  };

  const isUsed = ({ endpoint, program }: Runtime): boolean =>
    program.position().received > 0 ||
    options.webhookUrls().some((url) => pathOf(url) === endpoint.path);
  const isTaken = (path: string): boolean => all.byPath(path) !== undefined;

  const noRoomFor = (next: Unsaved, before: Unsaved | null): Problem | null =>
    roomFor<Unsaved>(
      {
        what: "test endpoints",
        all: Array.from(all.byId.values(), ({ endpoint }) => endpoint),
        // An answer has the path in both URLs too.
        listed: (one) => ({ ...one, ...urls(), paths: [one.path, one.path] }),
      },
      next,
      before,
    );

  function withEndpoint<Result>(
    id: EndpointId,
    act: (runtime: Runtime) => Result,
  ): Result | Problem {
    const runtime = all.byId.get(id);
    return runtime === undefined ? notFound("test endpoint", endpointIds.format(id)) : act(runtime);
  }

  return {
    list: () => Array.from(all.byId.values(), view),
    get(id) {
      const runtime = all.byId.get(id);
      return runtime === undefined ? undefined : view(runtime);
    },
    create(draft) {
      const checked = checkDraft(draft, null, isTaken);
      if (isProblem(checked)) return checked;
      const noRoom = noRoomFor(checked, null);
      if (noRoom !== null) return noRoom;
      const runtime = all.add(store.insertEndpoint({ ...checked, createdAt: clock.now() }));
      noteChange(runtime.endpoint.id);
      return view(runtime);
    },
    update: (id, draft) =>
      withEndpoint(id, (runtime) => {
        const checked = checkDraft(draft, runtime.endpoint, isTaken, isUsed(runtime));
        if (isProblem(checked)) return checked;
        const endpoint = { ...runtime.endpoint, ...checked };
        const noRoom = noRoomFor(endpoint, runtime.endpoint);
        if (noRoom !== null) return noRoom;
        store.updateEndpoint(endpoint);
        all.change(runtime, endpoint, draft.steps !== undefined);
        noteChange(id);
        return view(runtime);
      }),
    delete: (id) =>
      withEndpoint(id, (runtime) => {
        store.deleteEndpoint(id);
        all.remove(runtime);
        noteChange(id);
        return null;
      }),
    rewind: (id) =>
      withEndpoint(id, (runtime) => {
        runtime.program.rewind();
        noteChange(id);
        return view(runtime);
      }),
    received: (id, limit, before) =>
      withEndpoint(id, ({ received }) => received.list(limit, before)),
    clearReceived: (id) =>
      withEndpoint(id, ({ received }) => {
        received.clear();
        changes.note("received", endpointIds.format(id));
        return null;
      }),
    presets: () => presets,
    async start() {
      ports = await server.start();
      return urls();
    },
    async stop() {
      await forwarding.drain();
      for (const { serving } of all.byId.values()) for (const each of serving) each.abandon();
      forwarding.close();
      await server.stop();
      all.save();
    },
    reload() {
      all.reload();
      changes.note("endpoints", null);
    },
  };
}

/** All test endpoints while they run, by id and by path. */
function createRuntimes({
  store,
  secrets,
  report,
}: Pick<EndpointsOptions, "store" | "secrets" | "report">) {
  const byId = new Map<EndpointId, Runtime>();
  const byPath = new Map<string, Runtime>();

  function add(endpoint: TestEndpoint): Runtime {
    const runtime = {
      endpoint,
      program: new Program(endpoint.steps, endpoint.after, endpoint.perMessage),
      received: new ReceivedRequests(endpoint.id, secrets),
      serving: new Set<Serving>(),
    };
    byId.set(endpoint.id, runtime);
    byPath.set(endpoint.path, runtime);
    return runtime;
  }

  /** Its path may be another one's already. */
  function leavePath(runtime: Runtime): void {
    const { path } = runtime.endpoint;
    if (byPath.get(path) === runtime) byPath.delete(path);
  }

  function remove(runtime: Runtime): void {
    byId.delete(runtime.endpoint.id);
    leavePath(runtime);
    for (const each of runtime.serving) each.abandon();
  }

  function change(runtime: Runtime, endpoint: TestEndpoint, hasNewSteps: boolean): void {
    const { program } = runtime;
    leavePath(runtime);
    byPath.set(endpoint.path, runtime);
    runtime.endpoint = endpoint;
    program.continueWith(endpoint.after, endpoint.perMessage);
    if (hasNewSteps) program.replaceSteps(endpoint.steps);
  }

  for (const endpoint of store.endpoints()) add(endpoint);
  for (const { id, createdAt, steps, program, received } of store.endpointStates()) {
    const runtime = byId.get(id);
    // After a reset, ids start from 1 again.
    if (runtime?.endpoint.createdAt !== createdAt) continue;
    if (JSON.stringify(runtime.endpoint.steps) === steps) runtime.program.restore(program);
    runtime.received.restore(received);
  }

  return {
    byId: byId as ReadonlyMap<EndpointId, Runtime>,
    byPath: (path: string): Runtime | undefined => byPath.get(path),
    add,
    remove,
    change,
    /** How much of what was received is kept, so that a start stays quick. */
    save(): void {
      try {
        store.saveEndpointStates(
          Array.from(byId.values(), ({ endpoint, program, received }) => ({
            id: endpoint.id,
            createdAt: endpoint.createdAt,
            steps: JSON.stringify(endpoint.steps),
            program: program.state(),
            received: received.newest(),
          })),
        );
      } catch (error) {
        report(error);
      }
    },
    lastReceived: (): number =>
      Math.max(0, ...Array.from(byId.values(), ({ received }) => received.lastId())),
    reload(): void {
      const stored = new Map(store.endpoints().map((endpoint) => [endpoint.id, endpoint]));
      for (const runtime of byId.values()) {
        // After a reset, ids start from 1 again: an id may belong to another endpoint.
        const { id, createdAt, steps } = runtime.endpoint;
        const now = stored.get(id);
        if (now?.createdAt === createdAt)
          change(runtime, now, JSON.stringify(now.steps) !== JSON.stringify(steps));
        else remove(runtime);
      }
      for (const endpoint of stored.values()) if (!byId.has(endpoint.id)) add(endpoint);
    },
  };
}

/** Records each request, and serves it by the program of its endpoint. */
function createReceive(
  { clock, holds, changes, seed }: EndpointsOptions,
  forwarding: ReturnType<typeof createForwarding>,
  endpointAt: (path: string) => Runtime | undefined,
  lastId: number,
): (request: EndpointRequest) => void {
  let lastReceived = lastId;

  const draw = (id: EndpointId) => (step: number, nth: number) => drawUnit(seed(), id, step, nth);

  return (request) => {
    const runtime = endpointAt(pathOf(request.url));
    if (runtime === undefined) {
      const message = `There is no test endpoint at ${request.url}. The page of an endpoint in the inspector shows its address.`;
      answerJson(request.response, 404, "not_found", message);
      return;
    }
    const { endpoint, program, received, serving } = runtime;
    const facts = once(() => readMessageFacts(request.body));
    const index = request.tooLarge
      ? null
      : program.serve(
          { fits: (match) => matches(match, facts()), draw: draw(endpoint.id) },
          () => facts().messageId,
        );
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
    // The endpoint's id, so that readers know whose list and position to read again.
    changes.note("received", endpointIds.format(endpoint.id), true);
    if (request.tooLarge) {
      entry.answer(413, clock.now());
      answerJson(
        request.response,
        413,
        "too_large",
        "A test endpoint accepts bodies of up to 1 MB.",
      );
      return;
    }
    if (step?.do === "forward") {
      const changed = (): void => changes.note("received", endpointIds.format(endpoint.id));
      forwarding.forward({ step, endpoint, request, entry, changed, serving });
      return;
    }
    const answered = (status: number): void => entry.answer(status, clock.now());
    const held = serveStep({
      step: step ?? noStep,
      path: endpoint.path,
      exchange: request,
      clock,
      holds,
      answered,
    });
    if (held === null) return;
    serving.add(held);
    request.response.once("close", () => serving.delete(held));
  };
}

/** The path without its query and slashes; also of a client that sends a whole URL. */
function pathOf(url: string): string {
  return url
    .replace(/^[a-z]+:\/\/[^/?]*/i, "")
    .replace(/[?#].*$/s, "")
    .replace(/^\/|\/$/g, "");
}

function once(read: () => MessageFacts): () => MessageFacts {
  let value: MessageFacts | null = null;
  return () => (value ??= read());
}
