/** Sending an audience: what the next sync would say, and of whom. */

import { count } from "../../kit/words.ts";
import { useLive } from "../../stores/live-data.ts";
import { call } from "../../transport/transport.ts";
import type { Audience } from "./audience-draft.ts";
import { SyncStep } from "./sync-step.tsx";

export function AudienceSync({ audience, hasDraft }: { audience: Audience; hasDraft: boolean }) {
  const { id, size } = audience;
  const { answer: changes, error } = useLive("audiences.changes", { id, sample: 5 });
  return (
    <SyncStep
      synced={audience}
      isDone={changes === undefined || changes.entering + changes.leaving === 0}
      told={{ users: size, words: size === 1 ? "user is in, as receivers were told" : "users are in, as receivers were told" }}
      words={{ entered: "came", left: "left" }}
      onSync={() => call("audiences.sync", { id })}
      error={error}
      next={changes === undefined ? "" : `${nextWords(changes)}${hasDraft ? "; by the rule as it was saved" : ""}`}
    >
      {changes === undefined || changes.sample.length === 0 ? null : (
        <ul className="sample" aria-label="What would be sent">
          {changes.sample.map(({ userId, change }) => (
            <li key={userId}>
              <code className="clip isolate">{userId}</code>
              <span className="muted">{change === "entering" ? "comes: true" : "leaves: false"}</span>
            </li>
          ))}
        </ul>
      )}
    </SyncStep>
  );
}

function nextWords({ entering, leaving }: { entering: number; leaving: number }): string {
  if (entering + leaving === 0) return "nothing has changed since receivers were told";
  const parts = [...(entering > 0 ? [`true for ${count(entering)}`] : []), ...(leaving > 0 ? [`false for ${count(leaving)}`] : [])];
  return `will send ${parts.join(" and ")}`;
}
