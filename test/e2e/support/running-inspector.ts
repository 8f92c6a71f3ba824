/**
 * The program with its control port and the built pages, put together as `serve` does it, in the
 * process of the test, with its data in memory. Whoever starts it stops it, and hears then what it
 * had to report.
 */

import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer, type Server } from "node:net";
import { join } from "node:path";
import { createApp } from "../../../src/app.ts";
import type { Api, ApiAnswer } from "../../../src/api/api.ts";
import type { AnswerOf, CallName, InputOf } from "../../../src/contract/contract.ts";
import { createControlPort, type ControlPort } from "../../../src/headless/http-api.ts";
import { createStaticPages, type StaticPages } from "../../../src/headless/static-pages.ts";
import { root } from "../../../src/launch/build.ts";
import { blankPath } from "./inspector-place.ts";

const writeKey = "wk_shop";

type Call = {
  type?: "track" | "identify" | "page" | "screen" | "group" | "alias";
  [member: string]: unknown;
};

export type ServedInspectors = Awaited<ReturnType<typeof serveInspectors>>;

/**
 * A control port that shows one inspector after the other, so that a page that is kept finds each
 * of them at the same address.
 */
export async function serveInspectors() {
  type Shown = { api: Api; report: (error: unknown) => void };
  let shown: Shown | null = null;
  const now = (): Shown => {
    if (shown === null) throw new Error("No inspector is running");
    return shown;
  };
  const api: Api = {
    call: (...call) => now().api.call(...call),
    beside: (id) => now().api.beside(id),
    get changes() {
      return now().api.changes;
    },
    openApi: () => now().api.openApi(),
    metrics: () => now().api.metrics(),
  };
  const files = createStaticPages([join(root, "out", "renderer")]);
  const pages: StaticPages = {
    has: (path) => path === blankPath || files.has(path),
    answer(response, path) {
      if (path !== blankPath) return files.answer(response, path);
      response.setHeader("Content-Type", "text/html");
      response.end();
    },
  };
  const token = randomBytes(32).toString("base64url");
  const serve = (port: number): ControlPort =>
    createControlPort({
      ...{ api, token, pages, host: "127.0.0.1", port },
      report: (error) => now().report(error),
    });
  let control = serve(0);
  const url = await control.start();
  const port = Number(new URL(url).port);
  let keeper: Server | null = null;
  return {
    url,
    /** What the user is given to open. */
    address: `${url}/#token=${token}`,
    show: (next: Shown | null) => void (shown = next),
    /**
     * As when the program is ended and the page stays open. The port is kept meanwhile: another
     * program could take it.
     */
    async stopServing(): Promise<void> {
      await control.stop();
      keeper = createServer((socket) => socket.destroy());
      keeper.listen(port, "127.0.0.1");
      await once(keeper, "listening");
    },
    async serveAgain(): Promise<void> {
      if (keeper === null) return;
      keeper.close();
      keeper = null;
      control = serve(port);
      await control.start();
    },
    stop: () => control.stop(),
  };
}

export type RunningInspector = Awaited<ReturnType<typeof startInspector>>;

export async function startInspector({
  data = ":memory:",
  /** Where it is shown; in place of a control port of its own. */
  at = undefined as ServedInspectors | undefined,
} = {}) {
  const reported: unknown[] = [];
  const report = (error: unknown): void => void reported.push(error);
  const app = createApp({
    data,
    ports: { ingest: 0, endpoints: 0, endpointsTls: 0 },
    version: "0.0.0",
    scenarios: join(root, "resources", "scenarios"),
    pages: join(root, "out", "renderer"),
    report,
  });
  const { ingestUrl } = await app.start();
  const served = at ?? (await serveInspectors());
  served.show({ api: app.api, report });

  async function call<Name extends CallName>(
    name: Name,
    input: InputOf<Name>,
  ): Promise<AnswerOf<Name>> {
    const { status, body } = await app.api.call(name, input);
    if (status >= 400) throw new Error(`${name} answered ${status}: ${JSON.stringify(body)}`);
    return body as AnswerOf<Name>;
  }

  return {
    app,
    url: served.url,
    address: served.address,
    ingestUrl,
    writeKey,
    call,
    /** In one batch, by the write key of `shop`. Answers how the ingest port answered. */
    async send(calls: readonly Call[], key = writeKey): Promise<number> {
      const response = await fetch(`${ingestUrl}/v1/batch`, {
        method: "POST",
        headers: {
          authorization: `Basic ${Buffer.from(`${key}:`).toString("base64")}`,
          "content-type": "application/json",
        },
        body: JSON.stringify({ batch: calls.map((each) => ({ type: "track", ...each })) }),
      });
      await response.arrayBuffer();
      return response.status;
    },
    /** A source, a test endpoint with this program, and a signed destination between them. */
    async shop({
      steps = [{ do: "answer" }],
    }: { steps?: InputOf<"endpoints.create">["steps"] } = {}) {
      const source = await call("sources.create", { name: "Shop web", kind: "web", writeKey });
      const endpoint = await call("endpoints.create", { name: "flaky-billing", steps });
      const destination = await call("destinations.create", {
        name: "Billing",
        sourceIds: [source.id],
        webhooks: [{ url: endpoint.url }],
        sharedSecret: "s3cret",
      });
      return { source, endpoint, destination };
    },
    /** What the page gets for calls of this name, in place of or around the answer. */
    answer(name: CallName, as: (answered: () => Promise<ApiAnswer>) => Promise<ApiAnswer>): void {
      const { call: answer } = app.api;
      app.api.call = (called, input, caller) => {
        const answered = (): Promise<ApiAnswer> => answer(called, input, caller);
        return called === name ? as(answered) : answered();
      };
    },
    /** Calls of this name wait until they are released, in the order in which they came. */
    hold(name: CallName): { inputs: unknown[]; release(): void } {
      const { call: answer } = app.api;
      const inputs: unknown[] = [];
      const released = Promise.withResolvers<void>();
      app.api.call = async (called, input, caller) => {
        if (called === name) {
          inputs.push(input);
          await released.promise;
        }
        return answer(called, input, caller);
      };
      return { inputs, release: released.resolve };
    },
    stopServing: served.stopServing,
    serveAgain: served.serveAgain,
    async stop(): Promise<void> {
      if (at === undefined) await served.stop();
      else await served.serveAgain();
      await app.stop();
      served.show(null);
      if (reported.length > 0) throw new AggregateError(reported, "The program reported errors");
    },
  };
}
