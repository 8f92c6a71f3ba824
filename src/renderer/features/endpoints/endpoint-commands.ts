/** What makes, copies and removes test endpoints, and goes to them. */

import { useMemo } from "react";
import type { AnswerOf } from "../../../contract/contract.ts";
import { usePlace } from "../../stores/place.ts";
import { call } from "../../transport/transport.ts";
import { certificateHosts } from "./endpoint-address.ts";

export type Preset = AnswerOf<"endpoints.presets">["items"][number];
type Endpoint = AnswerOf<"endpoints.get">;

export function useEndpointCommands(onProblem: (problem: Error | null) => void) {
  return useMemo(() => {
    const attempt = async (run: () => Promise<void>): Promise<void> => {
      try {
        await run();
        onProblem(null);
      } catch (error) {
        onProblem(error instanceof Error ? error : new Error(String(error)));
      }
    };
    const open = ({ id }: { id: string }, query: Record<string, string> = {}): void =>
      usePlace.getState().go({ view: "endpoints", path: [id], query });
    return {
      create: (preset: Preset | null) =>
        attempt(async () => {
          const draft = preset === null ? { name: "endpoint", steps: [] } : { name: preset.name, steps: preset.steps, after: preset.after };
          const made = await call("endpoints.create", draft);
          const host = certificateHosts.find((each) => each.host === preset?.host);
          open(made, { ...(host === undefined ? {} : { host: host.host }), ...(preset === null ? { name: "edit" } : {}) });
        }),
      duplicate: ({ name, steps, after }: Endpoint) =>
        attempt(async () => open(await call("endpoints.create", { name: `${name} copy`, steps, after }))),
      rewind: ({ id }: Endpoint) =>
        attempt(async () => {
          await call("endpoints.rewind", { id });
        }),
    };
  }, [onProblem]);
}
