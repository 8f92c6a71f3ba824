/** Serves the inspector's files: the built ones, or one bare page while there are none. */

import { existsSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { join } from "node:path";
import { contentSecurityPolicy, pageFilesIn, type PageFile } from "../page-files.ts";
import { guardHeaders } from "./json.ts";

const pageHeaders = {
  ...guardHeaders,
  "Content-Security-Policy": contentSecurityPolicy({ connects: true }),
};

export type StaticPages = {
  has(path: string): boolean;
  answer(response: ServerResponse, path: string): void;
};

/** The first of the directories that has an `index.html`. */
export function createStaticPages(directories: readonly string[]): StaticPages {
  const directory = directories.find((candidate) => existsSync(join(candidate, "index.html")));
  const files = directory === undefined ? new Map<string, PageFile>() : pageFilesIn(directory);
  return {
    has: (path) => files.has(path),
    answer: (response, path) => {
      const { bytes, contentType } = files.get(path) as PageFile;
      response.writeHead(200, {
        ...pageHeaders,
        // The build puts the hash of their content into the names of these.
        ...(path.startsWith("/assets/") ? { "Cache-Control": "max-age=31536000, immutable" } : {}),
        "Content-Type": contentType,
        "Content-Length": String(bytes.length),
      });
      response.end(response.req.method === "HEAD" ? undefined : bytes);
    },
  };
}
