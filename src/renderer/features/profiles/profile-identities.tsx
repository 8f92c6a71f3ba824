/** A profile's identities, and the history of how they came together. */

import { count } from "../../kit/words.ts";
import { useLive } from "../../stores/live-data.ts";
import { hashOf } from "../../stores/place.ts";
import { Part, SeenAt } from "./facts.tsx";
import { historyWords, type ProfileDetails } from "./profile-words.ts";

const firstShown = 100;

export function Identities({ id }: { id: string }) {
  const { answer } = useLive("profiles.get", { id });
  return (
    <section className="pane" aria-label="Identities and their history">
      <header className="pane-title">
        <h3>Who this is</h3>
      </header>
      <div className="pane-body">{answer === undefined ? null : <Joined profile={answer} />}</div>
    </section>
  );
}

function Joined({ profile: { identities, history } }: { profile: ProfileDetails }) {
  return (
    <>
      <Part title="Identities" number={identities.length} none="">
        <ul className="facts">
          {identities.slice(0, firstShown).map(({ kind, value, since }) => (
            <li key={`${kind} ${value}`}>
              <span className="muted">{kind}</span>
              <code className="clip isolate" title={value}>
                {value}
              </code>
              <SeenAt at={since} />
            </li>
          ))}
        </ul>
        {identities.length > firstShown ? <p className="quiet">and {count(identities.length - firstShown)} more</p> : null}
      </Part>
      <Part title="How they were joined" number={history.length} none="">
        <ol className="history">
          {history.slice(-firstShown).map(({ at, kind, detail, messageId }) => (
            <li key={`${at} ${kind} ${detail}`}>
              <a className="link" href={hashOf({ view: "live", path: [messageId], query: {} })} title="The message that did it">
                <SeenAt at={at} />
              </a>
              <span className="strong">{historyWords[kind]}</span>
              <span className="muted isolate">{detail}</span>
            </li>
          ))}
        </ol>
      </Part>
    </>
  );
}
