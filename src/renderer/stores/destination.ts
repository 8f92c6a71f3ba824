/** One destination, out of the list: asking for one that has been deleted would be a refusal, and that is no error here. */

import type { AnswerOf } from "../../contract/contract.ts";
import { useLive } from "./live-data.ts";

type KnownDestination = { destination: AnswerOf<"destinations.get"> | undefined; isDeleted: boolean };

export function useDestination(id: string): KnownDestination {
  const items = useLive("destinations.list", {}).answer?.items;
  const destination = items?.find((each) => each.id === id);
  return { destination, isDeleted: items !== undefined && destination === undefined };
}
