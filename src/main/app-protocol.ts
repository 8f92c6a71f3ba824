/** `app://hookyard/…`: the inspector's built files, and nothing else of the disk. */

import { app, protocol } from "electron";
import { contentSecurityPolicy, pageFilesIn } from "../page-files.ts";

const scheme = "app";
const host = "hookyard";

/**
 * In the dev loop (`npm run dev:desktop`) the page comes from Vite's server. A packaged program has
 * no dev loop.
 */
const devServer = app.isPackaged ? undefined : process.env["ELECTRON_RENDERER_URL"];
export const isDevelopment = devServer !== undefined;
export const pageUrl = devServer ?? `${scheme}://${host}/`;

const headers = {
  "Content-Security-Policy": contentSecurityPolicy({ connects: false }),
  "X-Content-Type-Options": "nosniff",
  "Referrer-Policy": "no-referrer",
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cache-Control": "no-store",
};

/** Before the app is ready: Chromium learns its schemes once. */
export function registerAppScheme(): void {
  protocol.registerSchemesAsPrivileged([
    { scheme, privileges: { standard: true, secure: true, codeCache: true } },
  ]);
}

/** `directory` holds the built inspector. */
export function serveApp(directory: string): void {
  const files = pageFilesIn(directory);
  protocol.handle(scheme, (request) => {
    const file = isPage(request.url) ? files.get(new URL(request.url).pathname) : undefined;
    if (file === undefined)
      return new Response("This path does not exist.", { status: 404, headers });
    if (request.method !== "GET")
      return new Response("This path only accepts GET and HEAD.", { status: 405, headers });
    return new Response(file.bytes, {
      headers: { ...headers, "Content-Type": file.contentType },
    });
  });
}

/** Whether a URL is one of the inspector's page. */
export function isPage(url: string): boolean {
  const parsed = URL.parse(url);
  const page = new URL(pageUrl);
  return parsed !== null && parsed.protocol === page.protocol && parsed.host === page.host;
}
