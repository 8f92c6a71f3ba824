import { problem } from "../../domain/problem.ts";
import type { HandlersOf } from "../handler.ts";

const no = () => problem(409, "not_built", "This part of Hookyard is not built yet.");

/** Calls of the contract that nothing answers yet. */
export const notYet: HandlersOf<"audiences" | "computedTraits" | "deletions"> = {
  "audiences.list": no,
  "audiences.create": no,
  "audiences.get": no,
  "audiences.update": no,
  "audiences.delete": no,
  "audiences.sync": no,
  "audiences.changes": no,
  "audiences.preview": no,
  "audiences.explain": no,
  "computedTraits.list": no,
  "computedTraits.create": no,
  "computedTraits.get": no,
  "computedTraits.update": no,
  "computedTraits.delete": no,
  "computedTraits.sync": no,
  "computedTraits.preview": no,
  "deletions.list": no,
  "deletions.create": no,
  "deletions.get": no,
  "deletions.delete": no,
};
