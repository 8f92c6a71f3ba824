/**
 * Stands between one client and Hookyard, changes nothing, and knows from outside which messages
 * were sent and which of them Hookyard answered with success.
 */

import { createServer, request as sendRequest } from "node:http";
import type { IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { gunzipSync } from "node:zlib";

type Numbered = { n?: number };
export type NumberedMessage = {
  type?: string;
  messageId?: string;
  userId?: string;
  "User ID"?: string;
  properties?: Numbered;
  traits?: Numbered;
};

/** The messages of our programs have a number: in their properties, their traits or their user. */
export function numberOf(message: NumberedMessage): number {
  const { properties, traits, userId, "User ID": aliased } = message;
  return properties?.n ?? traits?.n ?? Number(/^u_(\d+)$/.exec(userId ?? aliased ?? "")?.[1]);
}

export type RecordingProxy = {
  url: string;
  /** Requests with messages, and their numbers. */
  requests: { status: number; userAgent: string; numbers: number[] }[];
  stop(): Promise<void>;
};

export async function startRecordingProxy(target: string): Promise<RecordingProxy> {
  const requests: RecordingProxy["requests"] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const body = Buffer.concat(chunks);
      const { method, url, headers } = request;
      const onward = sendRequest(target + url, { method, headers }, (answer) => {
        const status = answer.statusCode ?? 0;
        if (method === "POST")
          requests.push({
            status,
            userAgent: headers["user-agent"] ?? "",
            numbers: numbersIn(body, headers),
          });
        response.writeHead(status, answer.statusMessage ?? "", answer.rawHeaders);
        answer.pipe(response);
      });
      onward.on("error", () => request.socket.destroy());
      onward.end(body);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    stop() {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

function numbersIn(body: Buffer, headers: IncomingHttpHeaders): number[] {
  const bytes = headers["content-encoding"] === "gzip" ? gunzipSync(body) : body;
  const root = JSON.parse(bytes.toString()) as NumberedMessage & {
    batch?: NumberedMessage[] | null;
  };
  return ("batch" in root ? (root.batch ?? []) : [root]).map(numberOf);
}
