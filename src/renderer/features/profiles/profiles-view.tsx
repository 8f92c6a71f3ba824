/** Profiles: who came to be known from the messages, with everything that is known of one beside the list. */

import { useState } from "react";
import { TextField, Button } from "../../kit/controls.tsx";
import { ListAndEditor, ListEntry, ListPane } from "../../kit/list-pane.tsx";
import { NothingHere } from "../../kit/nothing-here.tsx";
import { ProblemText } from "../../kit/problem.tsx";
import { clockTime, count } from "../../kit/words.ts";
import { useLive } from "../../stores/live-data.ts";
import { hashOf, usePlace } from "../../stores/place.ts";
import { Identities } from "./profile-identities.tsx";
import { ProfilePane } from "./profile-pane.tsx";
import { profileName, type Profile } from "./profile-words.ts";
import "./profiles.css";

const pageSize = 100;
/** The API gives no more in a page; a search finds the others. */
const most = 1000;

export function ProfilesView() {
  const [search, setSearch] = useState("");
  const [limit, setLimit] = useState(pageSize);
  const openId = usePlace((place) => place.path[0]);
  const audienceId = usePlace((place) => place.query["audience"]);
  const { go, change } = usePlace.getState();
  const { answer, error } = useLive("profiles.list", {
    limit,
    ...(search === "" ? {} : { search }),
    ...(audienceId === undefined ? {} : { audienceId }),
  });
  const audience = useLive("audiences.list", {}).answer?.items.find((each) => each.id === audienceId);
  if (answer === undefined) return <ProblemText error={error} />;

  const query: Record<string, string> = audienceId === undefined ? {} : { audience: audienceId };
  const profiles = answer.items;
  const isEmpty = profiles.length === 0 && search === "" && audienceId === undefined && openId === undefined;
  const current = openId ?? profiles[0]?.id;
  const others = profiles.slice(0, 30).map((profile) => ({
    label: profileName(profile),
    hint: `${count(profile.events)} ${profile.events === 1 ? "event" : "events"}`,
    go: () => go({ view: "profiles", path: [profile.id], query }),
  }));

  const list = (
    <ListPane
      title="Profiles"
      tools={
        <span className="quiet" role="status">
          {count(answer.total)}
          {answer.totalCapped ? "+" : ""}
        </span>
      }
    >
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
          <span className="chip">
            <b>in</b>
            <span className="clip isolate">{audience?.name ?? "an audience that is gone"}</span>
            <Button look="quiet" small aria-label="Show all profiles" onClick={() => change({ query: { audience: null } })}>
              ×
            </Button>
          </span>
        )}
      </li>
      {profiles.map((profile) => (
        <ListEntry
          key={profile.id}
          href={hashOf({ view: "profiles", path: [profile.id], query })}
          isCurrent={profile.id === current}
          name={<span className={profile.userId === null ? "mono muted" : undefined}>{profileName(profile)}</span>}
          aside={
            <>
              {count(profile.events)} {profile.events === 1 ? "event" : "events"}
            </>
          }
          detail={<ProfileDetail profile={profile} />}
        />
      ))}
      {profiles.length === 0 && !isEmpty ? <li className="list-note muted">{noneSentence(search, audienceId)}</li> : null}
      {answer.nextCursor === null ? null : (
        <li className="list-note">
          {limit >= most ? (
            <span className="muted">These are the {count(most)} last seen. Find others by their id.</span>
          ) : (
            <Button small look="quiet" onClick={() => setLimit(Math.min(limit + pageSize, most))}>
              Show {pageSize} more
            </Button>
          )}
        </li>
      )}
    </ListPane>
  );
  return (
    <ListAndEditor
      name="profiles"
      title="Profiles"
      isEmpty={isEmpty}
      list={list}
      editor={
        current === undefined ? (
          <NothingHere label="No profile" title={isEmpty ? "Nobody is known yet" : "No profile is open"}>
            Profiles are built from the messages that come in: traits from identify, groups, what each user did, and the identities that an
            identify or an alias joins. Send a message, compose one with <kbd>n</kbd>, or start with the demo shop in Live.
          </NothingHere>
        ) : (
          <ProfilePane key={current} id={current} others={others} />
        )
      }
      evidence={current === undefined ? undefined : { label: "Who this is", content: <Identities key={current} id={current} /> }}
    />
  );
}

function noneSentence(search: string, audienceId: string | undefined): string {
  if (search !== "") return "No identity begins with this.";
  return audienceId === undefined ? "There is no profile." : "Nobody is in this audience.";
}

function ProfileDetail({ profile: { lastSeenAt, audiences, userId } }: { profile: Profile }) {
  return (
    <>
      seen <span className="due">{clockTime(Date.parse(lastSeenAt))}</span>
      {userId === null ? <span className="quiet"> anonymous</span> : null}
      {audiences.length === 0 ? null : <span className="quiet"> in {audiences.join(", ")}</span>}
    </>
  );
}
