/**
 * What the ingest port refused: what was wrong, which library sent it, and the line of code to
 * change. "Nothing arrives?" leads here.
 */

import type { AnswerOf } from "../../../contract/contract.ts";
import { Button, IconButton } from "../../kit/controls.tsx";
import { Copyable, copyText } from "../../kit/copy.tsx";
import { StateGlyph } from "../../kit/glyph.tsx";
import { ProblemText } from "../../kit/problem.tsx";
import { useAction } from "../../kit/use-action.ts";
import { dayAndTime, count, some } from "../../kit/words.ts";
import { useLive, useOnce } from "../../stores/live-data.ts";
import { goOnceAnswered, hrefTo } from "../../stores/place.ts";
import { call } from "../../transport/transport.ts";
import { EditorPane } from "../collection/collection.tsx";
import { filterHref } from "../details/places.ts";
import { Time } from "../details/until.tsx";

type Refused = AnswerOf<"refused.list">["items"][number];
type Sources = AnswerOf<"sources.list">["items"];

/** The place of the refused requests among the sources. */
export const refusedPath = "refused";

export function NothingArrives() {
  return (
    <a className="link" href={hrefTo("sources", refusedPath)}>
      Nothing arrives?
    </a>
  );
}

export function RefusedRequests({ sources, unknown }: { sources: Sources; unknown: number }) {
  const { answer, error } = useLive("refused.list", {});
  const { problem, run } = useAction();
  const items = answer?.items ?? [];
  return (
    <EditorPane
      label="Refused requests"
      title="Refused requests"
      others="A source"
      tools={
        items.length === 0 ? undefined : (
          <Button small onClick={() => run("clear", () => call("refused.clear", {}))}>
            Clear
          </Button>
        )
      }
    >
      <div className="pane-body refused">
        <ProblemText error={error ?? problem} />
        {answer === undefined ? null : items.length === 0 ? (
          <NothingRefused />
        ) : (
          <p className="muted refused-lead">
            Requests that were not accepted. Equal ones are counted together, and the last one is on
            top.
          </p>
        )}
        {unknown === 0 ? null : (
          <p className="refused-lead">
            {count(unknown)} unknown write {unknown === 1 ? "key" : "keys"} sent requests that are
            stored.{" "}
            <a className="link" href={hrefTo("sources", "unknown-keys")}>
              Adopt or forget {unknown === 1 ? "it" : "them"}
            </a>
          </p>
        )}
        <ol className="refused-list" aria-label="Refused requests, the last one first">
          {items.map((refused) => (
            <RefusedRow key={refused.id} refused={refused} sources={sources} />
          ))}
        </ol>
        {answer === undefined || answer.dropped === 0 ? null : (
          <p className="quiet refused-lead">
            {some(answer.dropped, "older one")} {answer.dropped === 1 ? "was" : "were"} removed.
          </p>
        )}
      </div>
    </EditorPane>
  );
}

function NothingRefused() {
  const about = useOnce("about.get", {}).answer;
  return (
    <div className="settled">
      <p className="muted">
        No request was refused. If nothing is in Live either, no request has reached this address:
      </p>
      <Copyable value={about?.ingestUrl ?? ""} label="the ingest address" note="ingest address" />
      <p className="muted">
        Most libraries wait 5 to 10 seconds or for a number of messages before they send, so flush
        or close the client. Check that its address is the one above. What arrives and is refused (a
        wrong path, method or key, TLS at this port, a malformed body) is listed here with the line
        of code to change.
      </p>
    </div>
  );
}

function RefusedRow({ refused, sources }: { refused: Refused; sources: Sources }) {
  const { code, message, advice, line, writeKey, status } = refused;
  const { problem, run } = useAction();
  const source = sources.find(({ id }) => id === refused.sourceId);
  const isCreatable =
    code === "unknown_write_key" &&
    writeKey !== null &&
    !writeKey.endsWith("…") &&
    sources.every((each) => each.writeKey !== writeKey);
  const what = whatOf(refused);
  return (
    <li aria-label={`${what} from ${senderOf(refused)}: ${code}`}>
      <p className="refused-head">
        <StateGlyph state="rejected" />
        <code className="strong clip isolate">{what}</code>
        <span className="refused-sender clip isolate">{senderOf(refused)}</span>
        <span className="grow" />
        {refused.count === 1 ? null : <span>{count(refused.count)} times</span>}
        <TimeOf refused={refused} />
      </p>
      <div className="refused-text">
        <p>
          <span className="strong">{status ?? "no answer"}</span> <code>{code}</code>
        </p>
        <p className="isolate">{message}</p>
        {advice === null ? null : <p className="muted isolate">{advice}</p>}
        {line === null ? null : (
          <div className="refused-line">
            <pre className="code" aria-label="The line to change">
              {line}
            </pre>
            <IconButton
              icon="copy"
              label="Copy the line"
              onClick={() => void copyText(line, "the line")}
            />
          </div>
        )}
        {source === undefined ? null : (
          <p>
            <a
              className="link"
              href={filterHref({
                values: { source: [source.name], state: ["rejected"] },
                text: "",
              })}
            >
              Rejected messages of {source.name} in Live
            </a>
          </p>
        )}
        {isCreatable ? (
          <Button
            small
            onClick={() =>
              run(`create a source with ${writeKey}`, () => {
                const name = `Source of ${writeKey.slice(0, 40)}`;
                return goOnceAnswered(call("sources.create", { name, writeKey }), ({ id }) => ({
                  view: "sources",
                  path: [id],
                }));
              })
            }
          >
            Create a source with this key
          </Button>
        ) : null}
        <ProblemText error={problem} />
      </div>
    </li>
  );
}

function TimeOf({ refused: { firstAt, lastAt, count: times } }: { refused: Refused }) {
  const last = Date.parse(lastAt);
  return (
    <span
      className="mono"
      title={
        times === 1 ? undefined : `first ${dayAndTime(Date.parse(firstAt), Date.parse(lastAt))}`
      }
    >
      <Time at={last} column />
    </span>
  );
}

function whatOf({ method, path }: Refused): string {
  return method === null ? "no HTTP" : `${method} ${path ?? ""}`;
}

function senderOf({ library: { name, version }, address }: Refused): string {
  const program =
    name === "unknown" ? "an unknown library" : [name, version ?? ""].join(" ").trim();
  return address === null ? program : `${program} at ${address}`;
}
