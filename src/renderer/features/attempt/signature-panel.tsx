/** How the signature of an attempt came about, step by step, and why a receiver's own differs. */

import { type ReactNode, useMemo, useState } from "react";
import { sign, signatureKey } from "../../../domain/signature.ts";
import {
  type SnippetLanguage,
  snippetLanguages,
  verificationSnippet,
} from "../../../domain/verification-snippets.ts";
import { bytesOf, type RecordedBytes } from "../../kit/byte-rows.ts";
import { Visible } from "../../kit/code-rows.tsx";
import { Button, IconButton } from "../../kit/controls.tsx";
import { copyText } from "../../kit/copy.tsx";
import { StateGlyph } from "../../kit/glyph.tsx";
import { ProblemText } from "../../kit/problem.tsx";
import { some } from "../../kit/words.ts";
import { useDestination, useLive } from "../../stores/live-data.ts";
import { unmasked } from "../../transport/secrets.ts";
import type { Attempt } from "../timeline/timeline-model.ts";
import { ReceiverComparison } from "./receiver-comparison.tsx";
import "./signature.css";

type PanelProps = {
  attempt: Attempt;
  /** The part of the body that is signed; null for none, undefined for all of it. */
  signed: RecordedBytes | null | undefined;
  destinationId: string;
  /** The destination's. */ name: string;
};

export function SignaturePanel({ attempt, signed, destinationId, name }: PanelProps) {
  const { sent, headers } = attempt.request;
  const signature = headers.find(([header]) => header.toLowerCase() === "x-signature")?.[1];
  if (!sent) return <Unsigned>Nothing was sent, so nothing was signed.</Unsigned>;
  if (signed === null)
    return <Unsigned>The request was not signed, because there was no data to sign.</Unsigned>;
  if (signature === undefined)
    return (
      <Unsigned>
        The request was not signed, because {name || "its destination"} had no shared secret. Set
        one, and later rounds are signed.
      </Unsigned>
    );
  return (
    <Signed
      attempt={attempt}
      signed={signed}
      destinationId={destinationId}
      name={name}
      signature={signature}
    />
  );
}

function Unsigned({ children }: { children: ReactNode }) {
  return (
    <section className="section signature-steps">
      <div className="section-head">
        <h3>Signature</h3>
      </div>
      <p className="muted">{children}</p>
    </section>
  );
}

function Signed({
  attempt,
  signed,
  destinationId,
  name,
  signature,
}: PanelProps & { signed: RecordedBytes | undefined; signature: string }) {
  const { destination } = useDestination(destinationId);
  const { answer, error } = useLive(
    "destinations.secret",
    destination === undefined ? null : { id: destinationId },
  );
  const secret = answer?.sharedSecret ?? null;
  const text = signed ?? attempt.request.body;
  const body = useUnmaskedBytes(attempt.request.body);
  const covered = useUnmaskedBytes(text);
  const isHidden = JSON.stringify(unmasked(text)) !== JSON.stringify(text);
  const signedWith = secret === null ? null : unmasked(secret);
  const isRight = useMemo(
    () => (signedWith === null ? null : sign(signatureKey(signedWith), covered) === signature),
    [signedWith, covered, signature],
  );

  return (
    <>
      <section className="section signature-steps">
        <div className="section-head">
          <h3>Signature</h3>
          <span className="grow" />
          {isRight === null ? null : <Verdict isRight={isRight} />}
        </div>
        <ProblemText error={error} />
        {answer !== undefined && secret === null ? (
          <p className="muted">
            {name || "The destination"} no longer has a shared secret, so the signature cannot be
            recomputed.
          </p>
        ) : null}
        {isRight === false ? (
          <p className="muted">
            The shared secret of {name || "the destination"} has changed since this attempt was
            signed.
          </p>
        ) : null}
        <Steps
          text={text}
          note={
            covered.length < body.length
              ? `the first element: ${covered.length} of ${some(body.length, "byte")}`
              : `${some(body.length, "byte")}, as sent`
          }
          secret={secret}
          keyNote={
            signedWith === null ? (
              "a shared secret"
            ) : (
              <>
                the shared secret of <Visible text={name} />,{" "}
                {some(bytesOf(signedWith).length, "byte")}, UTF-8
              </>
            )
          }
          signature={signature}
        />
        <Snippets />
      </section>
      {signedWith === null ? null : (
        <ReceiverComparison
          key={attempt.id}
          body={body}
          signed={covered.length < body.length ? covered : undefined}
          isHidden={isHidden}
          secret={signedWith}
          expected={signature}
        />
      )}
    </>
  );
}

/** Also while secrets are hidden. */
function useUnmaskedBytes(recorded: RecordedBytes): Uint8Array {
  const key = typeof recorded === "string" ? recorded : recorded.base64;
  // oxlint-disable-next-line react-hooks/exhaustive-deps -- the key stands for the bytes
  return useMemo(() => bytesOf(unmasked(recorded)), [key]);
}

function Steps({
  text,
  note,
  secret,
  keyNote,
  signature,
}: {
  text: RecordedBytes;
  note: string;
  secret: string | null;
  keyNote: ReactNode;
  signature: string;
}) {
  return (
    <ol className="sig-steps">
      <Step no={1} title="Body bytes" note={note}>
        <code className="sig-box clip">
          {typeof text === "string" ? <Visible text={text.slice(0, 120)} /> : "no text"}
        </code>
      </Step>
      <Step no={2} title="Key" note={keyNote}>
        <Secret secret={secret} />
      </Step>
      <Step no={3} title="HMAC-SHA1" note={`${signature.length / 2} bytes`}>
        <code className="sig-box sig-digest">{(signature.match(/../g) ?? []).join(" ")}</code>
      </Step>
      <Step
        no={4}
        title="Lower-case hex"
        note={
          <>
            equals <code>X-Signature</code>
          </>
        }
      >
        <code className="sig-box sig-row">
          <span className="clip">{signature}</span>
          <IconButton
            small
            icon="copy"
            label="Copy the digest"
            onClick={() => void copyText(signature, "the digest")}
          />
        </code>
      </Step>
    </ol>
  );
}

function Verdict({ isRight }: { isRight: boolean }) {
  const state = isRight ? "delivered" : "failed";
  return (
    <span className={`state tone ${state} strong`}>
      <StateGlyph state={state} />
      {isRight ? "valid for these bytes" : "signed with another secret"}
    </span>
  );
}

function Step({
  no,
  title,
  note,
  children,
}: {
  no: number;
  title: string;
  note: ReactNode;
  children: ReactNode;
}) {
  return (
    <li>
      <b className="sig-no" aria-hidden="true">
        {no}
      </b>
      <div>
        <span className="strong">{title}</span> <span className="quiet sig-note">{note}</span>
        {children}
      </div>
    </li>
  );
}

/** No more dots than fit; the note says how long it is. */
const maxDots = 24;

function Secret({ secret }: { secret: string | null }) {
  const [isShown, setShown] = useState(false);
  if (secret === null) return <code className="sig-box">–</code>;
  return (
    <code className="sig-box sig-row">
      {isShown ? (
        <span className="sig-secret">
          <Visible text={secret} />
        </span>
      ) : (
        <span className="clip" aria-label="hidden">
          {"•".repeat(Math.min(secret.length, maxDots))}
        </span>
      )}
      <Button small look="quiet" icon="show" onClick={() => setShown(!isShown)}>
        {isShown ? "Hide" : "Show"}
      </Button>
    </code>
  );
}

const languages: Record<SnippetLanguage, string> = {
  node: "Node",
  python: "Python",
  go: "Go",
  ruby: "Ruby",
  php: "PHP",
  perl: "Perl",
  java: "Java",
};

function Snippets() {
  const [language, setLanguage] = useState<SnippetLanguage | null>(null);
  return (
    <>
      <div className="sig-verify">
        <span className="muted">Verify it in</span>
        {snippetLanguages.map((each) => (
          <button
            key={each}
            type="button"
            className="link"
            aria-expanded={each === language}
            onClick={() => setLanguage(each === language ? null : each)}
          >
            {languages[each]}
          </button>
        ))}
      </div>
      {language === null ? null : (
        <div className="sig-snippet">
          <pre className="sig-box" tabIndex={0} aria-label={`A receiver in ${languages[language]}`}>
            {verificationSnippet(language)}
          </pre>
          <IconButton
            small
            icon="copy"
            label={`Copy the receiver in ${languages[language]}`}
            onClick={() =>
              void copyText(verificationSnippet(language), `the receiver in ${languages[language]}`)
            }
          />
        </div>
      )}
    </>
  );
}
