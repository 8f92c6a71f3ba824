/** The switch that makes Hookyard like the hosted service, its pieces, and what differs there. */

import type { AnswerOf, InputOf } from "../../../contract/contract.ts";
import { Sentence } from "../../kit/code-rows.tsx";
import { CheckField, SelectField } from "../../kit/controls.tsx";
import { ProblemText } from "../../kit/problem.tsx";
import { useAction } from "../../kit/use-action.ts";
import { some } from "../../kit/words.ts";
import { useLive } from "../../stores/live-data.ts";
import { hrefTo } from "../../stores/place.ts";
import { recordSaved } from "../../stores/undo.ts";
import { call } from "../../transport/transport.ts";
import { messageHref } from "../details/places.ts";

type Parity = AnswerOf<"settings.parity">;
type Piece = Parity["pieces"][number];
type Finding = Parity["findings"][number];
type Changes = InputOf<"settings.update">;

/**
 * A change of a piece is one of all sources or destinations: taking it back also gives those that
 * had a value of their own that value again.
 */
async function save(changes: Changes): Promise<void> {
  const before = everyPiece();
  const saveFirst = async (): Promise<void> => {
    await before;
    await call("settings.update", changes);
  };
  const undo = async (): Promise<void> => {
    const [settings, sources, destinations] = await before;
    const { parity, answers, unknownKeys, vendor } = settings;
    const { correctClockSkew, retryProfile, contextIp, limitMessageIds } = settings;
    await call("settings.update", {
      ...{ parity, answers, unknownKeys, vendor },
      ...{ correctClockSkew, retryProfile, contextIp, limitMessageIds },
    });
    const [, sourcesNow, destinationsNow] = await everyPiece();
    for (const { id, mode, correctClockSkew: skew } of sources.items) {
      const now = sourcesNow.items.find((each) => each.id === id);
      if (now === undefined || (now.mode === mode && now.correctClockSkew === skew)) continue;
      await call("sources.update", { id, mode, correctClockSkew: skew });
    }
    for (const { id, retryProfile: profile } of destinations.items) {
      const now = destinationsNow.items.find((each) => each.id === id);
      if (now === undefined || now.retryProfile === profile) continue;
      await call("destinations.update", { id, retryProfile: profile });
    }
  };
  await recordSaved(saveFirst, { undo, redo: () => call("settings.update", changes) });
}

const everyPiece = () =>
  Promise.all([
    call("settings.get", {}),
    call("sources.list", {}),
    call("destinations.list", {}),
  ] as const);

export function ParitySection() {
  const { answer, error } = useLive("settings.parity", {});
  const { problem, attempt } = useAction();
  if (answer === undefined) return <ProblemText error={error} />;
  const set = (changes: Changes): Promise<boolean> => attempt(() => save(changes));
  const { parity, isChanged, pieces, findings } = answer;
  return (
    <>
      <ProblemText error={problem ?? error} />
      <div className="parity-switch">
        <CheckField
          role="switch"
          label="Like the hosted service"
          checked={parity === "hosted"}
          onChange={(event) => set({ parity: event.currentTarget.checked ? "hosted" : "own" })}
        />
        {isChanged ? <span className="badge">hosted, changed</span> : null}
      </div>
      <table className="parity-pieces" aria-label="Pieces of the switch">
        <thead>
          <tr>
            <th scope="col">Piece</th>
            <th scope="col">Here</th>
            <th scope="col">Hosted</th>
          </tr>
        </thead>
        <tbody>
          {pieces.map((piece) => (
            <tr key={piece.name}>
              <th scope="row">{piece.title}</th>
              <td>
                <PieceValue piece={piece} onChange={set} />
                {piece.others.length === 0 ? null : (
                  <span className="quiet">
                    {some(piece.others.length, "other value")}: {piece.others.join(", ")}
                  </span>
                )}
              </td>
              <td className={piece.isHosted ? "muted" : "strong"}>{valueWords(piece.hosted)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <h4 className="parity-title" id="parity-findings">
        What would not work there
      </h4>
      {findings.length === 0 ? (
        <p className="muted">Hookyard has found nothing.</p>
      ) : (
        <Findings findings={findings} labelledBy="parity-findings" isLinked />
      )}
    </>
  );
}

const valueWords = (value: Piece["value"]): string =>
  value === true ? "on" : value === false ? "off" : String(value);

const choices: Partial<Record<Piece["name"], readonly string[]>> = {
  answers: ["explain", "production"],
  unknownKeys: ["explain", "production"],
  vendor: ["Hookyard", "Segment.io"],
  correctClockSkew: ["auto", "on", "off"],
  contextIp: ["connection", "direct"],
  limitMessageIds: ["off", "on"],
};

function PieceValue({
  piece: { name, title, value },
  onChange,
}: {
  piece: Piece;
  onChange: (changes: Changes) => Promise<boolean>;
}) {
  const profiles = useLive("retryProfiles.list", {}).answer?.items ?? [];
  const current = valueWords(value);
  const known = name === "retryProfile" ? profiles.map((each) => each.name) : choices[name];
  if (known === undefined) return <span>{current}</span>;
  const options = known.includes(current) ? known : [current, ...known];
  return (
    <SelectField
      aria-label={title}
      value={current}
      options={options}
      onChange={(next) => {
        const typed = next === "on" ? true : next === "off" ? false : next;
        return onChange({ [name]: typed });
      }}
    />
  );
}

export function Findings({
  findings,
  labelledBy,
  isLinked = false,
}: {
  findings: readonly Finding[];
  labelledBy: string;
  isLinked?: boolean;
}) {
  const destinations = useLive("destinations.list", isLinked ? {} : null).answer?.items;
  return (
    <ul className="parity-findings" aria-labelledby={labelledBy}>
      {findings.map(({ code, sentence, destinationId, messageId, webhookId }) => (
        <li key={`${code} ${webhookId ?? messageId ?? ""}`}>
          <Sentence text={sentence} />{" "}
          {isLinked && destinationId !== null ? (
            <a className="link" href={hrefTo("destinations", destinationId)}>
              open {destinations?.find(({ id }) => id === destinationId)?.name ?? "the destination"}
            </a>
          ) : null}
          {isLinked && messageId !== null ? (
            <a className="link" href={messageHref(messageId)}>
              open the message
            </a>
          ) : null}
        </li>
      ))}
    </ul>
  );
}
