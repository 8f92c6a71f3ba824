/**
 * One call, as a client of each kind would make it. Pure; every value is quoted as its language
 * wants it.
 */

import type { Json } from "../../../domain/json.ts";
import type { MessageType } from "../../../domain/states.ts";
import { shellQuoted } from "../../../domain/shell-quoted.ts";

export const snippetKinds = ["cURL", "Node", "Go", "browser"] as const;
export type SnippetKind = (typeof snippetKinds)[number];

export type CallDraft = {
  ingestUrl: string;
  writeKey: string;
  type: Exclude<MessageType, "delete">;
  /** The JSON of the call, as it was written. */ body: string;
};

export function snippet(kind: SnippetKind, draft: CallDraft): string {
  switch (kind) {
    case "cURL":
      return curl(draft);
    case "Node":
      return node(draft);
    case "Go":
      return go(draft);
    case "browser":
      return browser(draft);
  }
}

function curl({ ingestUrl, writeKey, type, body }: CallDraft): string {
  return [
    `curl ${ingestUrl}/v1/${type}`,
    `-u ${shellQuoted(`${writeKey}:`)}`,
    `-H 'Content-Type: application/json'`,
    `-d ${shellQuoted(body)}`,
  ].join(" \\\n  ");
}

function node({ ingestUrl, writeKey, type, body }: CallDraft): string {
  return `import { Analytics } from '@segment/analytics-node'

const analytics = new Analytics({
  writeKey: ${quote(writeKey)},
  host: ${quote(ingestUrl)},
})
analytics.${type}(${printed(parsed(body))})
await analytics.closeAndFlush()`;
}

function browser({ ingestUrl, writeKey, type, body }: CallDraft): string {
  return `await fetch(${quote(`${ingestUrl}/v1/${type}`)}, {
  method: 'POST',
  headers: { Authorization: 'Basic ' + btoa(${quote(`${writeKey}:`)}) },
  body: JSON.stringify(${printed(parsed(body), 1)}),
})`;
}

/** Member names of the Go library, where they are not the JSON's with a capital. */
const goNames: Readonly<Record<string, string>> = {
  userId: "UserId",
  anonymousId: "AnonymousId",
  groupId: "GroupId",
  previousId: "PreviousId",
};

function go({ ingestUrl, writeKey, type, body }: CallDraft): string {
  const call =
    type === "page" || type === "screen" ? "Page" : type.charAt(0).toUpperCase() + type.slice(1);
  const value = parsed(body);
  const members =
    typeof value === "object" && value !== null && !Array.isArray(value)
      ? Object.entries(value)
      : [];
  const fields = members.map(([name, member]) => {
    const field =
      type === "page" && name === "properties"
        ? "Traits"
        : (goNames[name] ?? name.charAt(0).toUpperCase() + name.slice(1));
    return `\t${field}: ${goValue(member, 1)},`;
  });
  return `client := analytics.New(${goString(writeKey)})
client.Endpoint = ${goString(ingestUrl)}
client.${call}(&analytics.${call}{
${fields.join("\n")}
})
client.Close()`;
}

function goValue(value: Json, depth: number): string {
  if (value === null) return "nil";
  if (typeof value === "string") return goString(value);
  if (typeof value !== "object") return String(value);
  const indent = "\t".repeat(depth);
  if (Array.isArray(value)) {
    if (value.length === 0) return "[]interface{}{}";
    return `[]interface{}{\n${value.map((item) => `${indent}\t${goValue(item, depth + 1)},`).join("\n")}\n${indent}}`;
  }
  const members = Object.entries(value);
  if (members.length === 0) return "map[string]interface{}{}";
  return `map[string]interface{}{\n${members.map(([key, item]) => `${indent}\t${goString(key)}: ${goValue(item, depth + 1)},`).join("\n")}\n${indent}}`;
}

/**
 * JSON's escapes are Go's, but for the slash and for lone surrogates, which Go has no way to write.
 */
function goString(text: string): string {
  return JSON.stringify(text.toWellFormed());
}

function quote(text: string): string {
  return `'${JSON.stringify(text).slice(1, -1).replaceAll(`\\"`, `"`).replaceAll("'", "\\'")}'`;
}

function printed(value: Json, depth = 0): string {
  return JSON.stringify(value, null, 2).replaceAll("\n", `\n${"  ".repeat(depth)}`);
}

function parsed(body: string): Json {
  try {
    return JSON.parse(body) as Json;
  } catch {
    return {};
  }
}

export type ComposedType = Exclude<MessageType, "delete">;

export const composedTypes = [
  "track",
  "identify",
  "page",
  "screen",
  "group",
  "alias",
] as const satisfies readonly ComposedType[];

/** A call of each type that would be accepted, to begin with. */
export const templates: Readonly<Record<ComposedType, string>> = {
  track: `{
  "userId": "u_1042",
  "event": "Order Completed",
  "properties": { "total": 184.5, "currency": "EUR" }
}`,
  identify: `{
  "userId": "u_1042",
  "traits": { "email": "u_1042@example.com", "plan": "pro" }
}`,
  page: `{
  "userId": "u_1042",
  "name": "Shop",
  "properties": { "path": "/", "title": "Yard Coffee", "url": "https://shop.example.com/", "referrer": "" }
}`,
  screen: `{
  "anonymousId": "a_41c8e2d0",
  "name": "Cart",
  "context": { "device": { "model": "iPhone17,1", "type": "ios" }, "os": { "name": "iOS", "version": "26.1" } }
}`,
  group: `{
  "userId": "u_1042",
  "groupId": "acme",
  "traits": { "name": "Acme", "employees": 12 }
}`,
  alias: `{
  "previousId": "a_41c8e2d0",
  "userId": "u_1042"
}`,
};
