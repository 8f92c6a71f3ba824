/**
 * The inspector's built files, as both hosts serve them: read once, so that no path leads out of
 * their directory, and a build meanwhile does not change the page of a program that runs.
 */

import { readdirSync, readFileSync } from "node:fs";
import { extname, join, relative, sep } from "node:path";

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

export type PageFile = { bytes: Buffer<ArrayBuffer>; contentType: string };

/** The files that are there now, by the path of their URL. */
export function pageFilesIn(directory: string): Map<string, PageFile> {
  const files = new Map<string, PageFile>();
  for (const entry of readdirSync(directory, { recursive: true, withFileTypes: true })) {
    const file = join(entry.parentPath, entry.name);
    if (!entry.isFile()) continue;
    files.set(`/${relative(directory, file).split(sep).join("/")}`, {
      bytes: readFileSync(file),
      contentType: types[extname(file)] ?? "application/octet-stream",
    });
  }
  const page = files.get("/index.html");
  if (page !== undefined) files.set("/", page);
  return files;
}

/**
 * `connect-src` is only there where the page talks to its host over HTTP; over a message port it
 * connects to nothing.
 */
export function contentSecurityPolicy({ connects }: { connects: boolean }): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "font-src 'self'",
    ...(connects ? ["connect-src 'self'"] : []),
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join("; ");
}
