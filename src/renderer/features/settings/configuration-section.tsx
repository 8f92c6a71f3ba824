/** The configuration as one readable file: saved from here, and read back in. */

import { type ChangeEvent, useRef, useState } from "react";
import type { InputOf } from "../../../contract/contract.ts";
import { Button, CheckField } from "../../kit/controls.tsx";
import { StateGlyph } from "../../kit/glyph.tsx";
import { ProblemText } from "../../kit/problem.tsx";
import { errorOf, useAction } from "../../kit/use-action.ts";
import { count } from "../../kit/words.ts";
import { call, callUnmasked } from "../../transport/transport.ts";

export function ConfigurationSection() {
  const [secrets, setSecrets] = useState(false);
  const { problem, run } = useAction();
  const [done, setDone] = useState<string | null>(null);
  const file = useRef<HTMLInputElement>(null);

  const reporting = (name: string, action: () => Promise<string>): void =>
    run(name, async () => {
      setDone(null);
      setDone(await action());
    });
  const save = (): void =>
    reporting(secrets ? "save with secrets" : "save", async () => {
      const document = await callUnmasked("configuration.export", { secrets });
      download("hookyard-configuration.json", `${JSON.stringify(document, null, 2)}\n`);
      const what = secrets
        ? "Saved with the shared secrets and credentials in plain text."
        : "Saved without the shared secrets and credentials.";
      return `${what}${ofOneName("destinations", document.destinations)}${ofOneName("simulated clients", document.clients)}`;
    });
  const read = ({ currentTarget: input }: ChangeEvent<HTMLInputElement>): void => {
    const [chosen] = input.files ?? [];
    input.value = "";
    if (chosen === undefined) return;
    reporting(`import ${chosen.name}`, async () => {
      const {
        created,
        updated,
        missing = [],
      } = await call("configuration.import", documentOf(await chosen.text(), chosen.name));
      const toEnter =
        missing.length === 0
          ? ""
          : ` The file has no values for these credentials. Enter them: ${missing.join("; ")}.`;
      return `Imported ${chosen.name}: ${count(created)} created, ${count(updated)} updated.${toEnter}`;
    });
  };

  return (
    <>
      <p className="muted">
        Sources, destinations, test endpoints, retry profiles, audiences, computed traits, simulated
        clients and settings. Importing a file creates new items, updates those with the same write
        key or name, and leaves everything else.
      </p>
      <CheckField
        label="Include the shared secrets and credentials in plain text"
        checked={secrets}
        onChange={(event) => setSecrets(event.currentTarget.checked)}
      />
      <div className="actions">
        <Button icon="save" onClick={save}>
          Save as a file
        </Button>
        <Button onClick={() => file.current?.click()}>Import a file…</Button>
        <input
          ref={file}
          type="file"
          accept="application/json,.json"
          className="sr"
          tabIndex={-1}
          aria-label="Configuration file"
          onChange={read}
        />
      </div>
      {done === null ? null : (
        <p className="verdict good" role="status">
          <span className="tone delivered">
            <StateGlyph state="delivered" />
          </span>
          {done}
        </p>
      )}
      <ProblemText error={problem} />
    </>
  );
}

/** A file says by its name which one it means. */
function ofOneName(what: string, things: readonly { name: string }[] = []): string {
  const names = things.map(({ name }) => name);
  const twice = names.find((name, place) => names.indexOf(name) !== place);
  return twice === undefined
    ? ""
    : ` Several ${what} are called ${twice}. Give each a name of its own and save again: this file cannot be imported.`;
}

/** The API checks what is in it. */
function documentOf(text: string, name: string): InputOf<"configuration.import"> {
  try {
    return JSON.parse(text) as InputOf<"configuration.import">;
  } catch (error) {
    throw new Error(`${name} is not JSON: ${errorOf(error).message}`, { cause: error });
  }
}

function download(name: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  URL.revokeObjectURL(url);
}
