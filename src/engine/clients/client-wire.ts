/**
 * The sockets of one client. The client library gets them from here, so that the pipeline knows of
 * each request: an advance of the clock waits for it, and a test endpoint can hold it. Its deadline
 * is real time until it is held; from then on it is clock time, counted from the same start.
 */

import { Agent as HttpAgent } from "node:http";
import { Agent as HttpsAgent } from "node:https";
import type { Socket } from "node:net";
import type { Outcome } from "../../domain/states.ts";
import type { Activity, Work, Holdable, Holds } from "../clock/activity.ts";
import type { Clock, ClockTimer } from "../clock/clock.ts";
import { withLoopback, type Trust } from "../deliver/dial.ts";
import { startTimer, type RealTimer } from "../real-time.ts";

/** As in the library. */
const timeoutMs = 10_000;

export type WireOptions = { clock: Clock; activity: Activity; holds: Holds; trust: Trust };

export type Took = {
  durationMs: number;
  simulated: boolean;
  /** Without a response. */ failedBy: Outcome;
};

type Wire = {
  /** Opens the library's connections. */
  agent(endpoint: URL): HttpAgent;
  /** A request is sent. There is one at a time. */
  begin(): void;
  /** Null when no request was on the wire. */
  end(): Took | null;
  close(): void;
};

type Request = {
  work: Work;
  startedAt: number;
  started: number;
  deadline: RealTimer | ClockTimer;
  simulated: boolean;
  failedBy: Outcome;
};

export function createWire({ clock, activity, holds, trust }: WireOptions): Wire {
  const agents: HttpAgent[] = [];
  const sockets = new Set<Socket>();
  let request: Request | null = null;

  function giveUp(): void {
    if (request !== null) request.failedBy = "timeout";
    for (const socket of sockets) socket.destroy(new Error(`no answer within ${timeoutMs} ms`));
  }

  function holdable(): Holdable {
    let held: Request | null = null;
    return {
      origin: "own",
      hold() {
        held = request;
        if (held === null) return;
        if (!held.simulated) {
          held.simulated = true;
          held.deadline.cancel();
          held.deadline = clock.schedule(held.startedAt + timeoutMs, giveUp, { background: true });
        }
        held.work.hold();
      },
      release: () => held?.work.release(),
    };
  }

  function watch(socket: Socket, secure: boolean): void {
    let stage: "connecting" | "connected" | "secured" = "connecting";
    let unregister = (): void => undefined;
    sockets.add(socket);
    socket.once("connect", () => {
      stage = "connected";
      const { localAddress = "", localPort = 0, remotePort = 0 } = socket;
      unregister = holds.register(localAddress, localPort, remotePort, holdable());
    });
    socket.once("secureConnect", () => {
      stage = "secured";
    });
    socket.once("error", () => {
      if (request !== null && secure && stage === "connected" && request.failedBy !== "timeout")
        request.failedBy = "tls_error";
    });
    socket.once("close", () => {
      sockets.delete(socket);
      unregister();
    });
  }

  return {
    agent(endpoint) {
      const secure = endpoint.protocol === "https:";
      const options = { keepAlive: true, maxSockets: 1, ...withLoopback(endpoint.hostname) };
      const agent = secure
        ? new HttpsAgent({ ...options, secureContext: trust.secureContext() })
        : new HttpAgent(options);
      const connect = agent.createConnection.bind(agent);
      agent.createConnection = (given, created) => {
        const socket = connect(given, created);
        if (socket) watch(socket as Socket, secure);
        return socket;
      };
      agents.push(agent);
      return agent;
    },
    begin() {
      request = {
        work: activity.beginSending(),
        startedAt: clock.now(),
        started: clock.monotonic(),
        deadline: startTimer(timeoutMs, giveUp),
        simulated: false,
        failedBy: "connection_error",
      };
    },
    end() {
      if (request === null) return null;
      const { work, deadline, startedAt, started, simulated, failedBy } = request;
      request = null;
      deadline.cancel();
      work.end();
      return {
        durationMs: simulated ? clock.now() - startedAt : clock.monotonic() - started,
        simulated,
        failedBy,
      };
    },
    close() {
      for (const agent of agents) agent.destroy();
    },
  };
}
