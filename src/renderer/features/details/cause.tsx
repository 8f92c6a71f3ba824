/** Why an audience, a computed trait or a deletion request sent a message, and where to look. */

import type { AnswerOf } from "../../../contract/contract.ts";
import { Sentence } from "../../kit/code-rows.tsx";
import { hrefTo } from "../../stores/place.ts";
import { traitsPath } from "../audiences/computed-draft.ts";
import { messageHref } from "./places.ts";

type Message = AnswerOf<"messages.get">;

export function CauseSection({
  message: { cause, decisions },
  names,
}: {
  message: Message;
  /** Of destinations. */
  names: ReadonlyMap<string, string>;
}) {
  if (cause === null) return null;
  const { sentence, audienceId, computedTraitId, messageId, deletionId } = cause;
  const receivers = decisions.filter(
    ({ routed, destinationId }) => routed && names.has(destinationId),
  );
  return (
    <section className="section" aria-labelledby="cause-title">
      <div className="section-head">
        <h3 id="cause-title">Why it was sent</h3>
      </div>
      <p className="cause-sentence">
        <Sentence text={sentence} />
      </p>
      <p className="cause-links">
        {audienceId === null ? null : (
          <a className="link" href={hrefTo("audiences", audienceId)}>
            the audience
          </a>
        )}
        {computedTraitId === null ? null : (
          <a className="link" href={hrefTo("audiences", traitsPath, computedTraitId)}>
            the computed trait
          </a>
        )}
        {messageId === null ? null : (
          <a className="link" href={messageHref(messageId)}>
            the message that made the difference
          </a>
        )}
        {deletionId === null ? null : (
          <a className="link" href={hrefTo("deletions", deletionId)}>
            the deletion request
          </a>
        )}
        {receivers.map(({ destinationId }) => (
          <a key={destinationId} className="link" href={hrefTo("destinations", destinationId)}>
            the receiver {names.get(destinationId)}
          </a>
        ))}
      </p>
    </section>
  );
}
