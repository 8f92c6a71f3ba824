/** Sends a test event to a destination, and shows the requests and the responses. */

import { useState } from "react";
import type { AnswerOf } from "../../../contract/contract.ts";
import { Sentence } from "../../kit/code-rows.tsx";
import { Button, Labelled } from "../../kit/controls.tsx";
import { OutcomeGlyph } from "../../kit/glyph.tsx";
import { ProblemText } from "../../kit/problem.tsx";
import { useAction } from "../../kit/use-action.ts";
import { duration } from "../../kit/words.ts";
import { useKept } from "../../stores/drafts.ts";
import { call } from "../../transport/transport.ts";
import { RequestBytes, ResponseBytes } from "../attempt/recorded-bytes.tsx";
import { curlOfAttempt } from "../details/copy-as.ts";
import { copyText } from "../../kit/copy.tsx";
import "../attempt/attempt.css";

type Tested = AnswerOf<"destinations.test">;

const sample = `{
  "type": "track",
  "userId": "test-user",
  "event": "Test Event",
  "properties": { "test": true }
}`;

export function DestinationTest({ id, enabled }: { id: string; enabled: boolean }) {
  const [text, setText] = useKept(`test event of ${id}`, sample);
  const [tested, setTested] = useState<Tested | null>(null);
  const { problem, isBusy, run } = useAction();
  const send = async (): Promise<void> => {
    setTested(null);
    setTested(await call("destinations.test", { id, event: eventOf(text) }));
  };
  return (
    <div className="pane-body">
      <form
        className="section test-event"
        aria-label="Test event"
        onSubmit={(event) => {
          event.preventDefault();
          run(`send to ${id}`, send);
        }}
      >
        <Labelled
          label="The event"
          hint={`Filtered, signed and sent like a message, but not recorded.${enabled ? "" : " The destination is disabled; the test is sent anyway."}`}
        >
          <textarea
            className="code"
            rows={7}
            spellCheck={false}
            value={text}
            onChange={(event) => setText(event.currentTarget.value)}
          />
        </Labelled>
        <div>
          <Button look="primary" icon="send" type="submit" isBusy={isBusy}>
            Send a test event
          </Button>
        </div>
        <ProblemText error={problem} />
      </form>
      {tested === null ? null : <Result tested={tested} />}
    </div>
  );
}

function eventOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new Error("The event is not valid JSON.");
  }
}

function Result({ tested: { sent, detail, warnings, mappings, attempts } }: { tested: Tested }) {
  const isListed = mappings.length > 1;
  const words = [isListed ? (sent ? "Sent." : "") : detail, ...warnings].join(" ");
  return (
    <section aria-label="Result of the test">
      <p className="section muted" role="status">
        {sent ? "" : "Not sent. "}
        <Sentence text={words} />
      </p>
      {isListed ? <Mappings mappings={mappings} /> : null}
      {attempts.map((each) => {
        const attempt = { ...each, id: each.webhookId, round: 1, leftOut: false };
        const { outcome, error, response, webhookUrl, durationMs, mapping } = attempt;
        return (
          <section key={each.webhookId} aria-label={`Test at ${mapping ?? webhookUrl}`}>
            <p className="section">
              <span className={`state strong tone ${outcome}`}>
                <OutcomeGlyph outcome={outcome} />
                {outcome}
              </span>{" "}
              <span className="muted">
                {response === null ? "" : `${response.status} `}after {duration(durationMs)}
                {error === null ? "" : `: ${error.message}`}
                {mapping === null ? "" : `, ${mapping}`}
              </span>
            </p>
            <RequestBytes
              attempt={attempt}
              onCopyCurl={() =>
                void copyText(curlOfAttempt(attempt, { credentials: false }), "the cURL command")
              }
            />
            <ResponseBytes attempt={attempt} />
          </section>
        );
      })}
    </section>
  );
}

function Mappings({ mappings }: Pick<Tested, "mappings">) {
  return (
    <ul className="section test-mappings" aria-label="Mappings">
      {mappings.map(({ name, reason, detail }) => (
        <li key={name}>
          <span className="strong">{name}</span> <code className="muted">{reason}</code>{" "}
          <span className="muted">
            <Sentence text={detail} />
          </span>
        </li>
      ))}
    </ul>
  );
}
