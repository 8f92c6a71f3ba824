/** `npm run serve -- FLAGS` */

import { endWithNpm } from "./end-with-npm.ts";
import { runServe } from "./run-serve.ts";

endWithNpm();
await runServe(process.argv.slice(2));
