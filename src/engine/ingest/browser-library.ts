/**
 * The files that pages load from the ingest port: the browser library that the classic snippet
 * asks for, and the parts that the library loads later. `ingest.ts` calls this. A file is read when
 * a page asks for it, never before, and sent so that the library contacts no other server.
 */

import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import type { IncomingMessage, ServerResponse } from "node:http";
import { fileURLToPath } from "node:url";
import { problem, type Problem } from "../../domain/problem.ts";
import { problemAnswer, reasonPhrase, unknownKeyProblem } from "./ingest-server.ts";
import { decoded, prefixBefore } from "./read-request.ts";

type BrowserFile = { writeKey: string; prefix: string } | { part: string };

const libraryAtEnd =
  /(?:^|\/)analytics\.js\/+v1\/+([^/]+)\/+(?:platform\/+)?analytics(?:\.min)?\.js$/i;
const partAtEnd = /(?:^|\/)analytics-next\/+bundles\/+([\w-]+\.bundle\.\w+\.js)$/;
const integrationAnywhere = /(?:^|\/)next-integrations\/./;

/** `part` is empty where no file can be: a device-mode destination. */
export function browserFileAt(path: string): BrowserFile | null {
  const library = libraryAtEnd.exec(path);
  if (library !== null)
    return { writeKey: decoded(library[1] ?? ""), prefix: prefixBefore(library) };
  const part = partAtEnd.exec(path)?.[1] ?? (integrationAnywhere.test(path) ? "" : undefined);
  return part === undefined ? null : { part };
}

/** Beside the built program, or a part of it; for the sources, in the package itself. */
const folders = [
  "../browser/",
  "../../browser/",
  "../../../node_modules/@segment/analytics-next/dist/umd/",
];

export async function sendBrowserFile({
  file,
  hasSource,
  noteRefused,
  request,
  response,
}: {
  file: BrowserFile;
  hasSource: (writeKey: string) => boolean;
  noteRefused: (wrong: Problem, writeKey?: string) => void;
  request: IncomingMessage;
  response: ServerResponse;
}): Promise<void> {
  const refuse = (wrong: Problem): void => {
    noteRefused(wrong);
    problemAnswer(response, wrong);
  };
  const { method, headers, url: path = "" } = request;
  if (method !== "GET" && method !== "HEAD") {
    response.setHeader("Allow", "GET, HEAD, OPTIONS");
    const message = `${path} accepts GET, not ${method ?? "that"}.`;
    return refuse(problem(405, "method_not_allowed", message));
  }
  if ("writeKey" in file) {
    const { writeKey } = file;
    if (!hasSource(writeKey)) {
      const { wrong, brief } = unknownKeyProblem(writeKey, "settings");
      noteRefused(wrong, writeKey);
      // Browsers hide JSON that comes in place of a script, and its status with it. They show a
      // refused script's status line.
      response.statusMessage = reasonPhrase(wrong, brief);
      const message = `Hookyard: ${wrong.message} The key is in the page's snippet.`;
      return sendScript(response, 401, `console.error(${JSON.stringify(message)});\n`, "no-store");
    }
    const library = (await readOf("standalone.js")) ?? "";
    if (library === "") throw new Error("The browser library is missing from the installation.");
    // The key may get another source at any time, so a page asks again.
    return sendScript(
      response,
      200,
      pointedHere(library, writeKey, (headers.host ?? "") + file.prefix),
      "no-cache",
    );
  }
  const script = file.part === "" ? null : await readOf(file.part);
  if (script !== null)
    return sendScript(response, 200, script, "public, max-age=31536000, immutable");
  const message =
    file.part === ""
      ? `${path} would be a device-mode destination. Only cloud mode exists: the library sends to Hookyard, and Hookyard to the destinations.`
      : `${path} is not part of the browser library that Hookyard serves.`;
  return refuse(problem(404, "unknown_path", message));
}

/** Without its last line, which names a source map that is not served. Null when it is missing. */
async function readOf(name: string): Promise<string | null> {
  const file = folders
    .map((folder) => fileURLToPath(new URL(folder + name, import.meta.url)))
    .find(existsSync);
  if (file === undefined) return null;
  return (await readFile(file, "utf8")).replace(/\/\/# sourceMappingURL=.*\s*$/, "");
}

/**
 * The library reads its server from the script's address, but only from an `https:` one; otherwise
 * it asks the hosted service. The first line names this server, unless the page has named one. The
 * write key takes the place that the hosted service fills too. The last replacement is the address
 * for reports of errors before the settings have come.
 */
function pointedHere(library: string, writeKey: string, host: string): string {
  const here = `!function(){var s=document.currentScript,g=document.querySelector("script[data-global-segment-analytics-key]"),n=g&&g.dataset.globalSegmentAnalyticsKey||"analytics",a=window[n]=window[n]||[];if(s&&!a._cdn)a._cdn=s.src.split(/\\/+analytics\\.js\\//i)[0]}();\n`;
  return (
    here +
    library
      .replaceAll(`"__WRITE_KEY__"`, () => JSON.stringify(writeKey))
      .replaceAll(`"api.segment.io/v1"`, () => JSON.stringify(`${host}/v1`))
  );
}

function sendScript(
  response: ServerResponse,
  status: number,
  script: string,
  cacheControl: string,
): void {
  response.writeHead(status, {
    "Content-Type": "text/javascript; charset=utf-8",
    "Content-Length": Buffer.byteLength(script),
    "Cache-Control": cacheControl,
    // For pages that require it of what they load (`Cross-Origin-Embedder-Policy`).
    "Cross-Origin-Resource-Policy": "cross-origin",
  });
  response.end(script);
}
