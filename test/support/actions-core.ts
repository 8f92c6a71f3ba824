/**
 * The open source that the hosted service's destinations are written with, and its webhook: one
 * action with the fields, the request and the signature of the published one. The package's own
 * types bring those of a browser and of another Node, so it is imported without them.
 */

import { createHmac } from "node:crypto";
import { createRequire } from "node:module";

type Json = Record<string, unknown>;
type Sent = { url: string; method: string; headers: Json; data?: unknown };
type Request = (url: string, options: Json) => Promise<unknown>;
type Executed = { event: Json; mapping: Json; settings: Json };

const load = createRequire(import.meta.url);

export const actionsCore = load("@segment/actions-core") as {
  transform(mapping: unknown, event: unknown): Json;
  Destination: new (definition: Json) => {
    executeAction(name: string, input: Executed): Promise<unknown>;
    executeBatch(
      name: string,
      input: Omit<Executed, "event"> & { events: Json[] },
    ): Promise<{ status: number }[]>;
  };
};

const text = { type: "string", label: "", description: "" };

export const actionsWebhook = new actionsCore.Destination({
  name: "Webhook",
  slug: "actions-webhook",
  mode: "cloud",
  authentication: {
    scheme: "custom",
    fields: { sharedSecret: { type: "password", label: "", description: "" } },
  },
  extendRequest({ settings, payload }: { settings: Json; payload: Json | Json[] }) {
    const first = Array.isArray(payload) ? payload[0]?.["data"] : payload["data"];
    const secret = settings["sharedSecret"] as string | undefined;
    if (!secret || !first) return {};
    const digest = createHmac("sha1", secret).update(JSON.stringify(first), "utf8").digest("hex");
    return { headers: { "X-Signature": digest } };
  },
  actions: {
    send: {
      title: "Send",
      description: "",
      fields: {
        url: { ...text, required: true, format: "uri" },
        method: {
          ...text,
          required: true,
          choices: ["POST", "PUT", "PATCH"].map((value) => ({ label: value, value })),
        },
        headers: { ...text, type: "object" },
        data: { ...text, type: "object" },
      },
      perform: (request: Request, { payload }: { payload: Sent }) =>
        request(payload.url, {
          method: payload.method,
          headers: payload.headers,
          json: payload.data,
        }),
      performBatch(request: Request, { payload }: { payload: Sent[] }) {
        const { url, method, headers } = payload[0]!;
        return request(url, { method, headers, json: payload.map(({ data }) => data) });
      },
    },
  },
});
