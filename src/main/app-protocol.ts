/**
 * `app://hookyard/…`: the inspector's built files, and nothing else of the disk. A path is looked up in the list of
 * files that were there at the start, so that no path leads out of their directory.
 */

import { readdirSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { extname, join, relative, sep } from "node:path";
import { protocol } from "electron";

const scheme = "app";
const host = "hookyard";
export const pageUrl = `${scheme}://${host}/`;

const types: Record<string, string> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".json": "application/json; charset=utf-8",
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".woff2": "font/woff2",
};

// Nothing to connect to: the page talks to the pipeline over its message port only.
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

const headers = {
  "Content-Security-Policy": contentSecurityPolicy,
  "X-Content-Type-Options": "nosniff",
  "Referrer-Policy": "no-referrer",
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cache-Control": "no-store",
};

/** Before the app is ready: Chromium learns its schemes once. */
export function registerAppScheme(): void {
  protocol.registerSchemesAsPrivileged([{ scheme, privileges: { standard: true, secure: true, codeCache: true } }]);
}

/** `directory` holds the built inspector. */
export function serveApp(directory: string): void {
  const files = filesIn(directory);
  protocol.handle(scheme, async (request) => {
    const file = isPage(request.url) ? files.get(new URL(request.url).pathname) : undefined;
    if (file === undefined) return new Response("There is nothing at this path.", { status: 404, headers });
    if (request.method !== "GET") return new Response("This is only there to be read.", { status: 405, headers });
    return new Response(await readFile(file), {
      headers: { ...headers, "Content-Type": types[extname(file)] ?? "application/octet-stream" },
    });
  });
}

/** Whether a URL is one of the inspector's page. */
export function isPage(url: string): boolean {
  const parsed = URL.parse(url);
  return parsed !== null && parsed.protocol === `${scheme}:` && parsed.host === host;
}

function filesIn(directory: string): Map<string, string> {
  const files = new Map<string, string>();
  for (const entry of readdirSync(directory, { recursive: true, withFileTypes: true })) {
    const file = join(entry.parentPath, entry.name);
    if (entry.isFile()) files.set(`/${relative(directory, file).split(sep).join("/")}`, file);
  }
  files.set("/", join(directory, "index.html"));
  return files;
}
