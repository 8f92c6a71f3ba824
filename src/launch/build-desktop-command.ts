/** `npm run build:desktop` */

import { buildDesktopIfStale } from "./build-desktop.ts";

await buildDesktopIfStale();
