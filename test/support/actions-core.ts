/**
 * The open source that the hosted service's destinations are written with. Its own types bring
 * those of a browser and of another Node, so it is imported without them.
 */

import { createRequire } from "node:module";

type Json = Record<string, unknown>;

const load = createRequire(import.meta.url);

export const actionsCore = load("@segment/actions-core") as {
  transform(mapping: unknown, event: unknown): Json;
};
