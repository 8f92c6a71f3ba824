/** Given to Node with `--import`: whoever imports `electron` from now on gets the stand-in. */

import { registerHooks } from "node:module";

const standIn = new URL("electron.ts", import.meta.url).href;

registerHooks({
  resolve: (specifier, context, next) =>
    specifier === "electron" ? { url: standIn, shortCircuit: true } : next(specifier, context),
});
