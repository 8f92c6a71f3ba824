/**
 * Write keys that no source has, with the requests that were kept: adopt them as sources, or forget
 * them.
 */

import { useState } from "react";
import type { AnswerOf } from "../../../contract/contract.ts";
import { Button, TextField } from "../../kit/controls.tsx";
import { ProblemText } from "../../kit/problem.tsx";
import { useAction } from "../../kit/use-action.ts";
import { count } from "../../kit/words.ts";
import { goOnceAnswered, hrefTo } from "../../stores/place.ts";
import { call } from "../../transport/transport.ts";
import { EditorPane } from "../collection/collection.tsx";
import { Time } from "../details/until.tsx";
import { refusedPath } from "./refused-requests.tsx";

type UnknownKey = AnswerOf<"unknownKeys.list">["items"][number];

export function UnknownKeys({
  keys,
  hasSources,
  refused,
}: {
  keys: readonly UnknownKey[];
  hasSources: boolean;
  /** The number of entries in that list. */
  refused: number;
}) {
  return (
    <EditorPane label="Unknown write keys" title="Unknown write keys" others="A source">
      <div className="pane-body">
        <div className="settled">
          <p className="muted">
            {keys.length === 0
              ? "No unknown keys. Requests with an unknown write key are stored here, so nothing is lost when a key is mistyped or not set up yet."
              : "Requests arrived with these keys, and no source has them. Adopting a key creates a source and processes the stored requests. A new source sends messages only to destinations that you connect."}
          </p>
          {keys.map((key) => (
            <UnknownKeyRow key={key.writeKey} unknownKey={key} />
          ))}
          {refused === 0 ? null : (
            <p>
              Requests without a key, and others that cannot be stored, are under{" "}
              <a className="link" href={hrefTo("sources", refusedPath)}>
                Refused requests
              </a>
              .
            </p>
          )}
          {keys.length === 0 && !hasSources ? (
            <a className="link" href="#/sources">
              Create a source
            </a>
          ) : null}
        </div>
      </div>
    </EditorPane>
  );
}

function UnknownKeyRow({
  unknownKey: { writeKey, requests, firstAt, lastAt, lastPath },
}: {
  unknownKey: UnknownKey;
}) {
  const [name, setName] = useState("");
  const { problem, run } = useAction();
  const given = name.trim() === "" ? suggestedName(writeKey) : name;
  return (
    <form
      className="unknown-key"
      aria-label={`Unknown write key ${writeKey}`}
      onSubmit={(event) => {
        event.preventDefault();
        run(() =>
          goOnceAnswered(call("unknownKeys.adopt", { writeKey, name: given }), ({ id }) => ({
            view: "sources",
            path: [id],
          })),
        );
      }}
    >
      <div className="unknown-what">
        <code className="strong clip isolate">{writeKey}</code>
        <span className="muted clip">
          {count(requests)} {requests === 1 ? "request" : "requests"} stored, first{" "}
          <Time at={Date.parse(firstAt)} />, last <Time at={Date.parse(lastAt)} /> to{" "}
          <code className="isolate">{lastPath}</code>
        </span>
      </div>
      <div className="unknown-do">
        <TextField
          aria-label={`Name of the source for ${writeKey}`}
          placeholder={suggestedName(writeKey)}
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
        />
        <Button type="submit">Adopt</Button>
        <Button
          look="quiet"
          onClick={() => run(() => call("unknownKeys.forget", { writeKey }), "forget")}
        >
          Forget
        </Button>
      </div>
      <ProblemText error={problem} />
    </form>
  );
}

/** A key tells little; it is still better than nothing until a name is given. */
const suggestedName = (writeKey: string): string => `Source of ${writeKey.slice(0, 40)}`;
