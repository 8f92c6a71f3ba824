/**
 * Takes a receiver's own digest or body, and says why it differs from what was sent, down to the
 * byte.
 */

import { useDeferredValue, useMemo, useState } from "react";
import { hexOf } from "../../kit/byte-rows.ts";
import { Sentence, Visible } from "../../kit/code-rows.tsx";
import { Choice, IconButton } from "../../kit/controls.tsx";
import { copyText } from "../../kit/copy.tsx";
import { StateGlyph } from "../../kit/glyph.tsx";
import { count } from "../../kit/words.ts";
import { unmasked } from "../../transport/secrets.ts";
import {
  compareWithReceiver,
  type Comparison,
  type Excerpt,
  excerpts,
  tried,
  workaround,
} from "./compare.ts";

type Given = { by: "digest" | "body"; digest: string; receiverBody: string };

export function ReceiverComparison({
  body,
  signed,
  isHidden,
  secret,
  expected,
}: {
  body: Uint8Array;
  /** The part of it that is signed, when that is not all. */
  signed: Uint8Array | undefined;
  /** Its bytes may not be shown. */
  isHidden: boolean;
  secret: string;
  expected: string;
}) {
  const [given, setGiven] = useState<Given>({ by: "digest", digest: "", receiverBody: "" });
  const { by, digest, receiverBody } = useDeferredValue(given);
  const comparison = useMemo(
    () =>
      compareWithReceiver({
        body,
        signed,
        secret,
        expected,
        digest: by === "digest" ? digest : "",
        receiverBody: by === "body" ? unmasked(receiverBody) : "",
      }),
    [body, signed, secret, expected, by, digest, receiverBody],
  );
  const isEmpty = given.by === "digest" ? given.digest === "" : given.receiverBody === "";
  const clear = (): void =>
    setGiven({ ...given, ...(given.by === "digest" ? { digest: "" } : { receiverBody: "" }) });

  return (
    <section className="section sig-compare">
      <div className="section-head">
        <h3>Compare with a receiver</h3>
        <span className="grow" />
        <Choice
          small
          label="Compare by"
          value={given.by}
          options={["digest", "body"]}
          onChange={(next) => setGiven({ ...given, by: next })}
        />
      </div>
      {given.by === "digest" ? (
        <span className="field mono wide">
          <input
            value={given.digest}
            placeholder="the digest that your receiver computes"
            spellCheck={false}
            autoComplete="off"
            aria-label="Paste your receiver's digest"
            onChange={(event) => setGiven({ ...given, digest: event.currentTarget.value })}
          />
          {isEmpty ? null : <IconButton small icon="close" label="Clear" onClick={clear} />}
        </span>
      ) : (
        <span className="field mono wide sig-area">
          <textarea
            value={given.receiverBody}
            rows={4}
            placeholder="the body over which your receiver computes its digest"
            spellCheck={false}
            aria-label="Paste your receiver's body"
            onChange={(event) => setGiven({ ...given, receiverBody: event.currentTarget.value })}
          />
          {isEmpty ? null : <IconButton small icon="close" label="Clear" onClick={clear} />}
        </span>
      )}
      <div aria-live="polite" className="sig-found">
        {comparison === null ? (
          <p className="quiet">
            Hookyard tries key orders, spaces, escapes, number formats, secrets and encodings until
            one matches.
          </p>
        ) : (
          <Found comparison={comparison} body={signed ?? body} isHidden={isHidden} />
        )}
      </div>
    </section>
  );
}

function Found({
  comparison: { explanation, theirs, hits },
  body,
  isHidden,
}: {
  comparison: Comparison;
  body: Uint8Array;
  isHidden: boolean;
}) {
  const { cause, sentence, firstDifference } = explanation;
  const isSame = cause === "none";
  const end = /[.:] /.exec(sentence)?.index ?? sentence.length;
  const way = workaround(hits);
  return (
    <>
      <div className={isSame ? "verdict good" : "verdict bad"}>
        <StateGlyph state={isSame ? "delivered" : "failed"} />
        <div>
          <p className="strong">
            <Sentence text={sentence.slice(0, end + 1)} />
          </p>
          <p className="muted">
            <Sentence text={sentence.slice(end + 1)} />{" "}
            {theirs === null || theirs.length === body.length
              ? null
              : `It has ${count(theirs.length)} bytes instead of ${count(body.length)}. `}
            {firstDifference === null ? null : (
              <>
                First differing byte: <b>{firstDifference.offset}</b>.
              </>
            )}
          </p>
        </div>
      </div>
      {theirs === null || isHidden ? null : <Bytes ours={body} theirs={theirs} />}
      {isSame ? null : (
        <ul className="sig-tried" aria-label="What was tried">
          {tried.map(({ cause: each, words }) =>
            hits.has(each) ? (
              <li key={each} className="sig-hit">
                <StateGlyph state="checked" />
                {words}
              </li>
            ) : (
              <li key={each} className="quiet">
                <i aria-hidden="true" />
                {words}
              </li>
            ),
          )}
        </ul>
      )}
      {way === null ? null : (
        <>
          <p className="muted">If your receiver cannot use the raw bytes, in {way.language}:</p>
          <code className="sig-box sig-row sig-code">
            <span>{way.code}</span>
            <IconButton
              small
              icon="copy"
              label={`Copy the ${way.language}`}
              onClick={() => void copyText(way.code, `the ${way.language}`)}
            />
          </code>
        </>
      )}
    </>
  );
}

function Bytes({ ours, theirs }: { ours: Uint8Array; theirs: Uint8Array }) {
  const found = excerpts(ours, theirs);
  if (found === null) return null;
  return (
    <div className="sig-diff" role="group" aria-label="First differing byte">
      <span className="quiet">sent</span>
      <Part excerpt={found.ours} />
      <span className="quiet">yours</span>
      <Part excerpt={found.theirs} />
      <span />
      <code className="sig-here">
        <span style={{ left: `calc(${found.ours.start * 3 + 1} * 1ch)` }}>
          byte {found.ours.from + found.ours.start}
        </span>
      </code>
      <span />
    </div>
  );
}

function Part({ excerpt: { bytes, start, end } }: { excerpt: Excerpt }) {
  const text = (from: number, to: number) => (
    <Visible text={wholeCharacters(bytes.subarray(from, to))} />
  );
  return (
    <>
      <code>
        {hexOf(bytes).map((pair, place) => (
          // oxlint-disable-next-line react/no-array-index-key -- bytes have nothing but their place
          <span key={place}>
            {place >= start && place < end ? <mark>{pair}</mark> : pair}
            {place < bytes.length - 1 ? " " : ""}
          </span>
        ))}
      </code>
      <code className="sig-txt">
        {text(0, start)}
        {end > start ? <mark>{text(start, end)}</mark> : null}
        {text(end, bytes.length)}
      </code>
    </>
  );
}

/** An excerpt may begin and end within a character. */
function wholeCharacters(bytes: Uint8Array): string {
  const start = bytes.findIndex((byte) => (byte & 0xc0) !== 0x80);
  return new TextDecoder().decode(bytes.subarray(Math.max(0, start)), { stream: true });
}
