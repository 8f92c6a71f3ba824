/**
 * Serves the inspector's files: the built ones, or one bare page while there are none. A path is looked up in the
 * list of files that were there at the start, so that no path leads out of their directory.
 */

import { existsSync, readdirSync } from "node:fs";
import { readFile } from "node:fs/promises";
import type { ServerResponse } from "node:http";
import { extname, join, sep } from "node:path";
import { guardHeaders } from "./json-answer.ts";

const types: Record<string, string> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".json": "application/json; charset=utf-8",
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".ico": "image/x-icon",
  ".woff2": "font/woff2",
};

const pageHeaders = {
  ...guardHeaders,
  "Content-Security-Policy": [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "font-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join("; "),
};

export type StaticPages = {
  has(path: string): boolean;
  answer(response: ServerResponse, path: string): Promise<void>;
};

/** The first of the directories that has an `index.html`. */
export function createStaticPages(directories: readonly string[]): StaticPages {
  const directory = directories.find((candidate) => existsSync(join(candidate, "index.html")));
  const files = new Map<string, string>();
  if (directory !== undefined) {
    for (const entry of readdirSync(directory, { recursive: true, withFileTypes: true })) {
      if (!entry.isFile()) continue;
      const file = join(entry.parentPath, entry.name);
      files.set(file.slice(directory.length).split(sep).join("/").replace(/^\/*/, "/"), file);
    }
    files.set("/", join(directory, "index.html"));
  }
  return {
    has: (path) => files.has(path),
    answer: async (response, path) => {
      const file = files.get(path) ?? "";
      const bytes = await readFile(file);
      response.writeHead(200, {
        ...pageHeaders,
        // The build puts the hash of their content into the names of these.
        ...(path.startsWith("/assets/") ? { "Cache-Control": "max-age=31536000, immutable" } : {}),
        "Content-Type": types[extname(file)] ?? "application/octet-stream",
        "Content-Length": String(bytes.length),
      });
      response.end(response.req.method === "HEAD" ? undefined : bytes);
    },
  };
}
