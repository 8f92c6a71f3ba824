/** Before the browser tests, once a run: the inspector as it is shipped. */

import { buildIfStale } from "../../../src/launch/build.ts";

export async function setup(): Promise<void> {
  await buildIfStale();
}
