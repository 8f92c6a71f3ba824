/** Before the browser tests, once a run: the inspector as it is shipped, and the browser. */

import { buildIfStale } from "../../../src/launch/build.ts";
import { unpackChromium } from "../../support/browser.ts";

export async function setup(): Promise<void> {
  await buildIfStale();
  await unpackChromium();
}
