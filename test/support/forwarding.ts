/** A receiver that is not ours, and a test endpoint that forwards to it. */

import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";
import type { Step } from "../../src/domain/configuration.ts";
import type { EndpointId } from "../../src/domain/ids.ts";
import type { ReceivedRequest } from "../../src/engine/endpoint-pipeline.ts";
import { startEndpoints, unwrap } from "./running-endpoints.ts";

type Arrived = {
  method: string;
  url: string;
  headers: string[];
  body: string;
  response: ServerResponse;
};

/** A plain server of Node's, which knows nothing of Hookyard. */
export async function receiver(
  answer: (arrived: Arrived, count: number) => void = ({ response }) => void response.end("done"),
) {
  const arrived: Arrived[] = [];
  const listener: RequestListener = (request: IncomingMessage, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const { method = "", url = "", rawHeaders } = request;
      const one = {
        method,
        url,
        headers: rawHeaders,
        body: Buffer.concat(chunks).toString(),
        response,
      };
      arrived.push(one);
      answer(one, arrived.length);
    });
  };
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    arrived,
    bodies: () => arrived.map(({ body }) => body),
  };
}

type Running = Awaited<ReturnType<typeof startEndpoints>>;

export async function behind(
  to: string,
  step: Partial<Step>,
  options: Parameters<typeof startEndpoints>[0] = {},
) {
  const running = await startEndpoints(options);
  const { id, url } = running.create({ steps: [{ do: "forward", to, ...step }] });
  return { ...running, id, at: url, record: () => recordOf(running, id) };
}

export function recordOf({ endpoints }: Running, id: EndpointId): ReceivedRequest[] {
  return unwrap(endpoints.received(id, 100, null)).items.toReversed();
}
