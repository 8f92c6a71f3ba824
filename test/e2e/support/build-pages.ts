/** Before the browser tests, once a run: the inspector as it is shipped. */

import { buildIfStale } from "../../../src/launch/build.ts";

export async function setup(): Promise<void> {
  const environment = process.env["NODE_ENV"];
  // The tests' own environment would make it a development build, and leave it there for the user.
  process.env["NODE_ENV"] = "production";
  await buildIfStale();
  process.env["NODE_ENV"] = environment;
}
