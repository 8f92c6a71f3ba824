/** `npm start`: opens the product. */

import { runServe } from "./run-serve.ts";

const hasDisplay = process.platform !== "linux" || Boolean(process.env["DISPLAY"] || process.env["WAYLAND_DISPLAY"]);

process.stdout.write(
  hasDisplay
    ? "Hookyard opens its inspector in your browser.\n"
    : "There is no display here, so Hookyard does not open a browser: open the inspector's address below yourself.\n",
);
await runServe([...(hasDisplay ? ["--open"] : []), ...process.argv.slice(2)]);
