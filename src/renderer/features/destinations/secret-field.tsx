/** The shared secret: hidden until it is asked for, and asked of the API only then. */

import { useEffect, useId, useState } from "react";
import { Button } from "../../kit/controls.tsx";
import { FieldNote } from "../../kit/commit-field.tsx";
import { useAction } from "../../kit/use-action.ts";
import { call } from "../../transport/transport.ts";

export function SecretField({
  destinationId,
  hasSharedSecret,
  value,
  onChange,
}: {
  destinationId: string | null;
  hasSharedSecret: boolean;
  /** Undefined: as it is saved. */
  value: string | null | undefined;
  onChange: (value: string | null | undefined) => void;
}) {
  const id = useId();
  const [isShown, setIsShown] = useState(false);
  const [saved, setSaved] = useState<string | null>(null);
  const { problem, run } = useAction();
  const isUnchanged = value === undefined;
  const isSaved = isUnchanged && hasSharedSecret;

  // Once it has been changed or taken back, what was shown is not what is there.
  useEffect(() => {
    setSaved(null);
    if (isUnchanged) setIsShown(false);
  }, [isUnchanged, hasSharedSecret]);

  const show = async (): Promise<void> => {
    if (isSaved && destinationId !== null) setSaved((await call("destinations.secret", { id: destinationId })).sharedSecret);
    setIsShown(true);
  };
  const text = value === undefined ? (isShown ? (saved ?? "") : "") : (value ?? "");

  return (
    <>
      <div className="secret-field">
        <label className="sr" htmlFor={id}>
          Shared secret
        </label>
        <span className="field mono">
          <input
            id={id}
            type={isShown ? "text" : "password"}
            spellCheck={false}
            autoComplete="off"
            placeholder={isSaved ? "••••••••  set; type to replace it" : "none: requests are not signed"}
            value={text}
            aria-describedby={`${id}-note`}
            onChange={(event) => onChange(event.currentTarget.value === "" && !hasSharedSecret ? null : event.currentTarget.value)}
          />
        </span>
        <Button icon="show" disabled={!isSaved && text === ""} onClick={() => (isShown ? setIsShown(false) : run(show))}>
          {isShown ? "Hide" : "Show"}
        </Button>
        {isSaved ? (
          <Button look="quiet" onClick={() => onChange(null)}>
            Remove
          </Button>
        ) : null}
      </div>
      <FieldNote
        id={`${id}-note`}
        error={problem?.message ?? null}
        hint={
          hasSharedSecret && value !== undefined && (value === null || value === "") ? (
            "Once saved, requests carry no X-Signature any more."
          ) : (
            <>
              Each request then carries <code>X-Signature</code>: the HMAC-SHA1 of its body’s bytes, keyed with this secret, in lower-case
              hex.
            </>
          )
        }
      />
    </>
  );
}
