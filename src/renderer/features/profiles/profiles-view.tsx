/**
 * Profiles: who came to be known from the messages, with everything that is known of one beside the
 * list.
 */

import { useState } from "react";
import type { AnswerOf } from "../../../contract/contract.ts";
import { Button, TextField } from "../../kit/controls.tsx";
import { EmptyState } from "../../kit/empty-state.tsx";
import { ProblemText } from "../../kit/problem.tsx";
import { count, nameIn } from "../../kit/words.ts";
import { useFirst, useLast, useLive } from "../../stores/live-data.ts";
import { hrefTo, usePlace } from "../../stores/place.ts";
import { Collection, type Entry } from "../collection/collection.tsx";
import { Time } from "../details/until.tsx";
import { Part, ProfilePane, SeenAt } from "./profile-pane.tsx";
import { historyWords, type Profile, type ProfileDetails, profileName } from "./profile-words.ts";
import "./profiles.css";

const pageSize = 100;
/** The API gives no more in a page; a search finds the others. */
const most = 1000;

export function ProfilesView() {
  const [search, setSearch] = useState("");
  const [limit, setLimit] = useState(pageSize);
  const openId = usePlace((place) => place.path[0]);
  const audienceId = usePlace((place) => place.query["audience"]);
  const { answer: newest, error } = useLive("profiles.list", {
    limit,
    ...(search === "" ? {} : { search }),
    ...(audienceId === undefined ? {} : { audienceId }),
  });
  const answer = useLast(newest);
  const first = useShownFirst(newest, openId, JSON.stringify([search, audienceId]));
  const audiences = useLive("audiences.list", {}).answer?.items;
  if (answer === undefined) return <ProblemText error={error} />;

  const profiles = answer.items;
  const isEmpty =
    profiles.length === 0 && search === "" && audienceId === undefined && openId === undefined;
  const current = openId ?? (profiles.length === 0 ? undefined : first);
  const none = (
    <EmptyState label="No profile" title={isEmpty ? "No profiles yet" : "No profile is open"}>
      Profiles are built from incoming messages: traits from identify calls, groups, the events of
      each user, and the identities that an identify or an alias merges. Send a message, compose one
      with <kbd>n</kbd>, or open the demo shop in Live.
    </EmptyState>
  );
  return (
    <Collection
      view="profiles"
      title="Profiles"
      entries={profiles.map(entryOf)}
      current={current === undefined ? undefined : [current]}
      query={audienceId === undefined ? {} : { audience: audienceId }}
      tools={
        <span className="quiet" role={search === "" ? undefined : "status"}>
          {count(answer.total)}
          {answer.totalCapped ? "+" : ""}
        </span>
      }
      above={
        <li className="list-search">
          <TextField
            aria-label="Find a profile"
            placeholder="Find by userId or anonymousId"
            value={search}
            onChange={(event) => {
              setSearch(event.currentTarget.value);
              setLimit(pageSize);
            }}
          />
          {audienceId === undefined ? null : (
            <AudienceChip name={nameIn(audiences, audienceId, "a deleted audience")} />
          )}
        </li>
      }
      below={
        <>
          {profiles.length === 0 && !isEmpty ? (
            <li className="list-note muted">{noneSentence(search, audienceId)}</li>
          ) : null}
          {answer.nextCursor === null ? null : (
            <li className="list-note">
              {limit >= most ? (
                <span className="muted">
                  Showing the {count(most)} most recent. Find others by id.
                </span>
              ) : (
                <Button
                  small
                  look="quiet"
                  onClick={() => setLimit(Math.min(limit + pageSize, most))}
                >
                  Show {pageSize} more
                </Button>
              )}
            </li>
          )}
        </>
      }
      empty={isEmpty ? none : null}
      editor={current === undefined ? none : <ProfilePane key={current} id={current} />}
      evidence={
        current === undefined
          ? undefined
          : { label: "Identities", content: <Identities key={current} id={current} /> }
      }
    />
  );
}

/** Which one is shown while none is open: the first of the list, until it is merged or deleted. */
function useShownFirst(
  list: AnswerOf<"profiles.list"> | undefined,
  openId: string | undefined,
  asked: string,
): string | undefined {
  const [goneId, setGoneId] = useState<string>();
  const first = useFirst(
    list?.items[0]?.id,
    asked,
    (id) =>
      id === goneId || (list?.nextCursor === null && list.items.every((each) => each.id !== id)),
  );
  const shown = openId === undefined ? first : undefined;
  const { error } = useLive("profiles.get", shown === undefined ? null : { id: shown });
  const nextGoneId = error?.status === 404 ? shown : undefined;
  if (nextGoneId !== goneId) setGoneId(nextGoneId);
  return first;
}

function entryOf(profile: Profile, place: number): Entry {
  const events = eventsWord(profile.events);
  const label = profileName(profile);
  return {
    path: [profile.id],
    label,
    name: <span className={profile.userId === null ? "mono muted" : undefined}>{label}</span>,
    hint: events,
    aside: events,
    detail: <ProfileDetail profile={profile} />,
    inMenu: place < 30,
  };
}

function AudienceChip({ name }: { name: string }) {
  return (
    <span className="chip">
      <b>in</b>
      <span className="clip isolate">{name}</span>
      <Button
        look="quiet"
        small
        aria-label="Show all profiles"
        onClick={() => usePlace.getState().change({ query: { audience: null } })}
      >
        ×
      </Button>
    </span>
  );
}

const eventsWord = (n: number): string => `${count(n)} ${n === 1 ? "event" : "events"}`;

function noneSentence(search: string, audienceId: string | undefined): string {
  if (search !== "") return "No identity starts with this.";
  return audienceId === undefined ? "No profiles." : "No users in this audience.";
}

function ProfileDetail({ profile: { lastSeenAt, audiences, userId } }: { profile: Profile }) {
  return (
    <>
      seen{" "}
      <span className="due">
        <Time at={Date.parse(lastSeenAt)} />
      </span>
      {userId === null ? <span className="quiet"> anonymous</span> : null}
      {audiences.length === 0 ? null : <span className="quiet"> in {audiences.join(", ")}</span>}
    </>
  );
}

const firstShown = 100;

/** A profile's identities, and the history of how they came together. */
function Identities({ id }: { id: string }) {
  const { answer } = useLive("profiles.get", { id });
  return (
    <section className="pane" aria-label="Identities and their history">
      <header className="pane-title">
        <h3>Identity</h3>
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
        {identities.length > firstShown ? (
          <p className="quiet">and {count(identities.length - firstShown)} more</p>
        ) : null}
      </Part>
      <Part title="How they were merged" number={history.length} none="">
        <ol className="history">
          {history.slice(-firstShown).map(({ at, kind, detail, messageId }) => (
            <li key={`${at} ${kind} ${detail}`}>
              <a className="link" href={hrefTo("live", messageId)} title="Open the message">
                <span className="sr">
                  {historyWords[kind]} {detail},{" "}
                </span>
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
