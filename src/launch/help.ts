/** What is answered before anything is built. */

import { serveHelp } from "../headless/serve-flags.ts";

export const asksForHelp = (flags: readonly string[]): boolean => flags.includes("--help") || flags.includes("-h");

export const startHelp = `Usage: npm start [-- flags]

Opens Hookyard in a window of its own, or in the browser where Electron's runtime is not there and cannot be had.
In a window, the flags --data, --ingest-port, --endpoints-port and --endpoints-tls-port count; in the browser, all of these:

${serveHelp}`;
