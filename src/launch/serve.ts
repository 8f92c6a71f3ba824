/** `npm run serve -- FLAGS` */

import { runServe } from "./run-serve.ts";

await runServe(process.argv.slice(2));
