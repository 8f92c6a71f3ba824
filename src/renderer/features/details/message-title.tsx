/** A message in a line: its type, its event, its user. */

import type { AnswerOf } from "../../../contract/contract.ts";
import { Visible } from "../../kit/code-rows.tsx";
import { visibleText } from "../../kit/visible-text.ts";

type Message = AnswerOf<"messages.get">;

/** A name may have 30 KB; what is drawn of it is what could fit. */
const drawn = 300;

export function MessageTitle({ message, level }: { message: Message; level: "h1" | "h2" }) {
  const { type, event, userId, anonymousId, messageId } = message;
  const user = userId ?? anonymousId;
  const name = event ?? user ?? messageId;
  const Heading = level;
  return (
    <>
      <span className="badge">{type ?? "no type"}</span>
      <Heading className="clip message-name" title={visibleText(name.slice(0, drawn))}>
        <Visible text={name.slice(0, drawn)} />
      </Heading>
      {event === null || user === null ? null : (
        <code className="muted clip message-user" title={visibleText(user.slice(0, drawn))}>
          <Visible text={user.slice(0, drawn)} />
        </code>
      )}
    </>
  );
}
