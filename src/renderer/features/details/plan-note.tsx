/** What a message has that its source's tracking plan does not allow, and what was removed for it. */

import type { AnswerOf } from "../../../contract/contract.ts";
import { Visible } from "../../kit/code-rows.tsx";
import { hrefTo } from "../../stores/place.ts";

type Message = AnswerOf<"messages.get">;

export function PlanNote({
  message: { plan, violations, dropped, sourceId },
}: {
  message: Message;
}) {
  if (plan !== "violations") return null;
  return (
    <section className="section plan-note" aria-labelledby="plan-note-title">
      <div className="section-head">
        <h3 id="plan-note-title">Tracking plan</h3>
        <span className="tone waiting">
          {violations.length} {violations.length === 1 ? "violation" : "violations"}
        </span>
        <span className="grow" />
        <a className="link" href={hrefTo("sources", sourceId)}>
          The plan
        </a>
      </div>
      <ul aria-label="Violations of the plan">
        {violations.map(({ path, message }) => (
          <li key={`${path} ${message}`}>
            <code>
              <Visible text={path} />
            </code>{" "}
            <Visible text={message} />
          </li>
        ))}
      </ul>
      {dropped.length === 0 ? null : (
        <p className="muted">
          Not delivered: <Visible text={dropped.slice(0, 20).join(", ")} />
          {dropped.length > 20 ? ` and ${dropped.length - 20} more` : ""}
        </p>
      )}
    </section>
  );
}
