/** What can be done with the selected message without opening it. */

import { copyText } from "../../kit/copy.tsx";
import { type Command, useOffer } from "../../stores/commands.ts";
import { goOnceAnswered } from "../../stores/place.ts";
import { call } from "../../transport/transport.ts";
import { curlOfIngest } from "../details/copy-as.ts";
import { replayMessage } from "../details/message-details.tsx";
import { whatIfPlace } from "../details/places.ts";
import { recordScenario } from "../scenarios/own-scenarios.ts";

const retried = new Set(["waiting", "failed", "expired", "cancelled"]);

export async function retryNow(id: string): Promise<void> {
  const { state, deliveries } = await call("messages.get", { id });
  const open = deliveries.filter((delivery) => retried.has(delivery.state));
  if (open.length === 0) throw new Error(`Nothing to retry: the message is ${state}.`);
  await Promise.all(open.map((delivery) => call("deliveries.retry", { id: delivery.id })));
}

export async function copyAsCurl(id: string): Promise<void> {
  const [message, { ingestUrl }, { items }] = await Promise.all([
    call("messages.get", { id }),
    call("about.get", {}),
    call("sources.list", {}),
  ]);
  const writeKey = items.find((source) => source.id === message.sourceId)?.writeKey;
  await copyText(curlOfIngest(message, { ingestUrl, writeKey }), "as cURL");
}

/** Opens what the newest attempt would have led to. */
const whatIfOfNewest = (id: string): Promise<void> =>
  goOnceAnswered(call("messages.get", { id }), ({ deliveries }) => {
    const newest = deliveries
      .flatMap(({ attempts }) => attempts)
      .reduce<{ id: string; startedAt: string } | null>(
        (last, each) => (last === null || each.startedAt >= last.startedAt ? each : last),
        null,
      );
    if (newest === null) throw new Error("No attempt was made yet.");
    return whatIfPlace(id, newest.id);
  });

/** In the palette, where `name` says which message it is. */
export function useSelectedCommands(
  id: string | null,
  name: string,
  open: (id: string) => void,
): void {
  const of = (does: string, command: Omit<Command, "id">): Command => ({
    ...command,
    id: `selected.${does}`,
    hint: name.slice(0, 40),
  });
  useOffer(
    "The selected message",
    id === null
      ? []
      : [
          of("open", { label: "Open", icon: "forward", shortcut: "Enter", run: () => open(id) }),
          of("retry", {
            label: "Retry now",
            icon: "retries",
            shortcut: "r",
            run: () => retryNow(id),
          }),
          of("curl", {
            label: "Copy as cURL",
            icon: "copy",
            shortcut: "c",
            run: () => copyAsCurl(id),
          }),
          of("replay", { label: "Replay", icon: "replay", run: () => replayMessage(id) }),
          of("what-if", { label: "What if …", icon: "clients", run: () => whatIfOfNewest(id) }),
          of("scenario", {
            label: "Create a scenario",
            icon: "scenarios",
            run: () => recordScenario(async () => [id]),
          }),
        ],
    "thing",
  );
}
