/** Removing the messages, or everything: says first what is lost. */

import { useState } from "react";
import { ConfirmDialog } from "../../kit/confirm-dialog.tsx";
import { Button } from "../../kit/controls.tsx";
import { count } from "../../kit/words.ts";
import { useLive } from "../../stores/live-data.ts";
import { call } from "../../transport/transport.ts";

export function ResetSection() {
  const [asks, setAsks] = useState<"messages" | "everything" | null>(null);
  const stats = useLive("stats.get", {}).answer;
  const sources = useLive("sources.list", {}).answer?.items.length ?? 0;
  const destinations = useLive("destinations.list", {}).answer?.items.length ?? 0;
  const endpoints = useLive("endpoints.list", {}).answer?.items.length ?? 0;
  const profiles = useLive("retryProfiles.list", {}).answer?.items.filter(({ builtIn }) => !builtIn).length ?? 0;
  const messages = stats?.messages.total ?? 0;
  const deliveries = stats?.deliveries.total ?? 0;
  const lost = `${some(messages, "message")}, pinned ones too, and ${some(deliveries, "delivery", "deliveries")} with all their attempts`;
  return (
    <>
      <div className="actions">
        <Button onClick={() => setAsks("messages")}>Remove all messages…</Button>
        <Button onClick={() => setAsks("everything")}>Remove everything…</Button>
      </div>
      <span className="labelled-hint">The settings and the clock stay in both cases.</span>
      <ConfirmDialog
        open={asks === "messages"}
        onClose={() => setAsks(null)}
        title={`Remove ${some(messages, "message")}?`}
        action="Remove them"
        onConfirm={() => call("pipeline.reset", { what: "messages" })}
      >
        {lost} are gone for good, and so are the requests that test endpoints received and those kept for unknown write keys. Sources,
        destinations and test endpoints stay.
      </ConfirmDialog>
      <ConfirmDialog
        open={asks === "everything"}
        onClose={() => setAsks(null)}
        title="Remove everything?"
        action="Remove everything"
        onConfirm={() => call("pipeline.reset", { what: "everything" })}
      >
        {lost} are gone for good, and so are {some(sources, "source")}, {some(destinations, "destination")} with their shared secrets,{" "}
        {some(endpoints, "test endpoint")} and {some(profiles, "custom retry profile")}. Export the configuration first if it may be wanted
        again.
      </ConfirmDialog>
    </>
  );
}

const some = (number: number, one: string, many = `${one}s`): string => `${count(number)} ${number === 1 ? one : many}`;
