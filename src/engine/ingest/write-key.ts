/** Where a request says which source it comes from. */

import type { JsonObject } from "../../domain/json.ts";

/** The user of Basic authorization, up to the first colon; null when there is no such header. */
export function keyInHeader(authorization: string | undefined): string | null {
  const encoded = /^\s*basic\s+(\S+)\s*$/i.exec(authorization ?? "")?.[1];
  if (encoded === undefined) return null;
  const decoded = Buffer.from(encoded, "base64").toString("utf8");
  const colon = decoded.indexOf(":");
  return (colon < 0 ? decoded : decoded.slice(0, colon)) || null;
}

export function keyInBody(root: JsonObject): string | null {
  const key = root["writeKey"];
  return typeof key === "string" && key !== "" ? key : null;
}
