/** Why a message has no delivery, in place of its timeline. */

import type { AnswerOf } from "../../../contract/contract.ts";
import { StateGlyph } from "../../kit/glyph.tsx";
import { Sentence } from "../../kit/sentence.tsx";
import { whyNotDelivered } from "./state-words.ts";
import { messageHref } from "./places.ts";

export function WhyNot({ message }: { message: AnswerOf<"messages.get"> }) {
  const why = whyNotDelivered(message);
  if (why === null) return null;
  const { state, duplicateOf } = message;
  return (
    <section className="section">
      <div className="section-head">
        <h3>Why it was not delivered</h3>
        <span className="grow" />
        <code className="quiet">{why.reason}</code>
      </div>
      <div className={state === "rejected" ? "verdict bad" : "verdict"}>
        <StateGlyph state={state} />
        <div>
          {why.sentences.map((sentence) => (
            <p key={sentence}>
              <Sentence text={sentence} />
            </p>
          ))}
          {duplicateOf === null ? null : (
            <p>
              <a className="link" href={messageHref(duplicateOf)}>
                Open the first one
              </a>
            </p>
          )}
        </div>
      </div>
    </section>
  );
}
