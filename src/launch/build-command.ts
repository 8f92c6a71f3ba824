/** `npm run build` */

import { buildIfStale } from "./build.ts";

await buildIfStale();
