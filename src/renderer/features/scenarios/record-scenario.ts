/** Makes a scenario of messages of the list, keeps it with the user's own and opens it. */

import { call } from "../../transport/transport.ts";
import { usePlace } from "../../stores/place.ts";
import { useOwnScenarios } from "./own-scenarios.ts";

export async function recordScenario(idsOf: () => Promise<readonly string[]>): Promise<void> {
  const messageIds = [...(await idsOf())];
  if (messageIds.length === 0) throw new Error("There is no message to record a scenario of.");
  const { text, notes } = await call("scenarios.record", { messageIds });
  const id = useOwnScenarios.getState().add(text, notes);
  usePlace.getState().go({ view: "scenarios", path: ["own", id] });
}
