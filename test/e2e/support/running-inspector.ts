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
import type { ApiAnswer } from "../../../src/api/api.ts";
import type { AnswerOf, CallName, InputOf } from "../../../src/contract/contract.ts";
import { createControlPort, type ControlPort } from "../../../src/headless/http-api.ts";
import { createStaticPages } from "../../../src/headless/static-pages.ts";
import { root } from "../../../src/launch/build.ts";

const writeKey = "wk_shop";

type Call = {
  type?: "track" | "identify" | "page" | "screen" | "group" | "alias";
  [member: string]: unknown;
};

export type RunningInspector = Awaited<ReturnType<typeof startInspector>>;

export async function startInspector({ data = ":memory:" } = {}) {
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
  const token = randomBytes(32).toString("base64url");
  const pages = createStaticPages([join(root, "out", "renderer")]);
  const serve = (port: number): ControlPort =>
    createControlPort({ api: app.api, token, pages, host: "127.0.0.1", port, report });
  let control = serve(0);
  const url = await control.start();
  const port = Number(new URL(url).port);
  let keeper: Server | null = null;

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
    url,
    /** What the user is given to open. */
    address: `${url}/#token=${token}`,
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
      keeper?.close();
      control = serve(port);
      await control.start();
    },
    async stop(): Promise<void> {
      await control.stop();
      await app.stop();
      if (reported.length > 0) throw new AggregateError(reported, "The program reported errors");
    },
  };
}
