/**
 * A process that does nothing but have its event loop watched: what the machine itself does to a
 * loop.
 */

import "./loop-delay.ts";

setInterval(() => undefined, 1_000_000);
process.send?.("ready");
