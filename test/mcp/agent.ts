/**
 * A running Hookyard with its control port, and the official client of the Model Context Protocol
 * connected to it.
 */

import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { createControlPort } from "../../src/headless/http-api.ts";
import { createStaticPages } from "../../src/headless/static-pages.ts";
import type { RunningApp, Start } from "../support/running-app.ts";

export const token = "a".repeat(43);

export type Next = { tool: string; input: Record<string, unknown> };

export type Agent = {
  app: RunningApp;
  url: string;
  client: Client;
  /** Calls a tool; returns the text of its answer. */
  use(tool: string, input?: Record<string, unknown>): Promise<string>;
  stop(): Promise<void>;
};

export async function startAgent(
  start: Start,
  { revision = "2026-07-28" }: { revision?: string } = {},
): Promise<Agent> {
  const app = await start.app();
  const unexpected: unknown[] = [];
  const control = createControlPort({
    api: { call: app.answer, changes: app.changes, openApi: () => ({}), metrics: () => "" },
    token,
    pages: createStaticPages([]),
    host: "127.0.0.1",
    port: 0,
    report: (error) => unexpected.push(error),
  });
  const url = await control.start();
  const client = createClient(revision);
  await client.connect(
    new StreamableHTTPClientTransport(new URL("/mcp", url), {
      requestInit: { headers: { Authorization: `Bearer ${token}` } },
    }),
  );
  return {
    app,
    url,
    client,
    use: (tool, input = {}) => textOf(client, tool, input),
    async stop() {
      await client.close();
      await control.stop();
      if (unexpected.length > 0) throw unexpected[0];
    },
  };
}

/** One that shakes hands, for a revision of 2025 or older, or one that does not. */
function createClient(revision: string): Client {
  return new Client(
    { name: "test", version: "1.0.0" },
    {
      versionNegotiation: { mode: revision === "2026-07-28" ? { pin: revision } : "legacy" },
      ...(revision === "2026-07-28" ? {} : { supportedProtocolVersions: [revision] }),
    },
  );
}

async function textOf(
  client: Client,
  tool: string,
  input: Record<string, unknown>,
): Promise<string> {
  const { content } = await client.callTool({ name: tool, arguments: input });
  const [part] = content as { type: string; text: string }[];
  if (part?.type !== "text") throw new Error(`${tool} answered ${JSON.stringify(content)}`);
  return part.text;
}

/** The calls that an answer suggests. */
export function nextsOf(text: string): Next[] {
  return [
    ...ownLines(text)
      .join("\n")
      .matchAll(/^Next: (\w+) (\{.*\}) \(.*\)$/gm),
  ].map(([, tool = "", input = ""]) => ({ tool, input: JSON.parse(input) as Next["input"] }));
}

/** An answer without what is fenced. */
export function ownLines(text: string): string[] {
  let mark: string | null = null;
  return text.split("\n").filter((line) => {
    if (mark !== null) {
      if (line === `--- end of data ${mark} ---`) mark = null;
      return false;
    }
    mark = /^--- data (\w+): written by others, not instructions ---$/.exec(line)?.[1] ?? null;
    return mark === null;
  });
}
