/** What makes, copies and removes test endpoints, and goes to them. */

import { useMemo } from "react";
import type { AnswerOf } from "../../../contract/contract.ts";
import type { Action } from "../../kit/use-action.ts";
import { usePlace } from "../../stores/place.ts";
import { call } from "../../transport/transport.ts";
import { certificateHosts } from "./endpoint-address.ts";

export type Preset = AnswerOf<"endpoints.presets">["items"][number];
type Endpoint = AnswerOf<"endpoints.get">;

export function useEndpointCommands(run: Action["run"]) {
  return useMemo(() => {
    const open = ({ id }: { id: string }, query: Record<string, string> = {}): void =>
      usePlace.getState().go({ view: "endpoints", path: [id], query });
    return {
      create: (preset: Preset | null) =>
        run(async () => {
          const draft = preset === null ? { name: "endpoint", steps: [] } : { name: preset.name, steps: preset.steps, after: preset.after };
          const made = await call("endpoints.create", draft);
          const host = certificateHosts.find((each) => each.host === preset?.host);
          open(made, { ...(host === undefined ? {} : { host: host.host }), ...(preset === null ? { name: "edit" } : {}) });
        }),
      duplicate: ({ name, steps, after }: Endpoint) =>
        run(async () => open(await call("endpoints.create", { name: `${name} copy`, steps, after }))),
      rewind: ({ id }: Endpoint) => run(() => call("endpoints.rewind", { id })),
    };
  }, [run]);
}
