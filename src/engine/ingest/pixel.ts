/**
 * Pixel calls: a call in the address of an image, for mails and pages without scripts. `ingest.ts`
 * calls this. Whatever becomes of the call, the answer is the image, as at the hosted service.
 */

import type { ServerResponse } from "node:http";
import { problem, type Problem } from "../../domain/problem.ts";
import { answerFaultOf } from "./ingest-faults.ts";

type Members = { [name: string]: string | Members };

/** A name with more dots is one name. */
const maxNesting = 20;

/**
 * The call's JSON: `data` in either base64, or as it is; or, without `data`, the query's own
 * parameters, in which a dot makes an object of the name before it (`properties.total=5`).
 */
export function pixelBody(query: URLSearchParams): Buffer | Problem {
  const data = query.get("data");
  if (data !== null) {
    if (data.trimStart().startsWith("{")) return Buffer.from(data);
    // A plus that was not encoded arrives as a space.
    const body = Buffer.from(data.replaceAll(" ", "+"), "base64");
    if (body.toString("latin1").trimStart().startsWith("{")) return body;
    return problem(400, "invalid_pixel_data", "`data` is not a JSON object in base64.");
  }
  const root: Members = Object.create(null) as Members;
  for (const [name, value] of query) {
    const parts = name.split(".");
    const path = parts.length > maxNesting ? [name] : parts;
    let members = root;
    for (const part of path.slice(0, -1)) {
      const inner = members[part];
      const next = typeof inner === "object" ? inner : (Object.create(null) as Members);
      members[part] = next;
      members = next;
    }
    members[path.at(-1) ?? name] = value;
  }
  return Buffer.from(JSON.stringify(root));
}

/** One transparent point. */
const image = Buffer.from("R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7", "base64");

export function sendPixel(response: ServerResponse): void {
  if (answerFaultOf(response, () => sendPixel(response))) return;
  response.writeHead(200, {
    "Content-Type": "image/gif",
    "Content-Length": image.length,
    // An image out of a cache would be a call that nobody sees.
    "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "cross-origin",
  });
  response.end(image);
}
