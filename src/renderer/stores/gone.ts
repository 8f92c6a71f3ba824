/** A change of something that was deleted meanwhile: says so, and leaves the place of what is gone. */

import { calls, type CallName } from "../../contract/contract.ts";
import { useToast } from "../kit/copy.tsx";
import type { CallError } from "../transport/transport.ts";
import { usePlace } from "./place.ts";

const things: Partial<Record<CallName, string>> = {
  "sources.update": "source",
  "destinations.update": "destination",
  "endpoints.update": "test endpoint",
  "clients.update": "client",
  "audiences.update": "audience",
  "computedTraits.update": "computed trait",
  "retryProfiles.update": "retry profile",
};

export function leaveWhatIsGone(
  name: CallName,
  input: { id?: unknown },
  { status }: CallError,
): void {
  if (status !== 404 || calls[name].method !== "PATCH") return;
  useToast
    .getState()
    .showError(
      `The ${things[name] ?? "thing"} that you changed was deleted meanwhile. The change was not saved.`,
    );
  const { path, change } = usePlace.getState();
  if (path.includes(String(input.id))) change({ path: [], query: { name: null } });
}
