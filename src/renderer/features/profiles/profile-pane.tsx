/**
 * One profile: its traits, what the user did, which audiences the user is in, and how the
 * identities were joined.
 */

import { type ReactNode, useState } from "react";
import { IconButton } from "../../kit/controls.tsx";
import { Menu } from "../../kit/floats.tsx";
import { ProblemText } from "../../kit/problem.tsx";
import { count, nameIn } from "../../kit/words.ts";
import { useLive } from "../../stores/live-data.ts";
import { hrefTo, usePlace } from "../../stores/place.ts";
import { EditorPane } from "../collection/collection.tsx";
import { filterHref } from "../details/places.ts";
import { Time } from "../details/until.tsx";
import { type ProfileDetails, profileName, valueText } from "./profile-words.ts";

export function ProfilePane({ id }: { id: string }) {
  const { answer: profile, error } = useLive("profiles.get", { id });
  const go = usePlace((place) => place.go);
  if (profile === undefined)
    return error === null ? <section className="pane editor" /> : <Gone error={error} />;
  const name = profileName(profile);
  const { userId } = profile;
  return (
    <EditorPane
      label={`Profile ${name}`}
      title={name}
      others="Another profile"
      facts={
        <>
          {userId === null ? <span className="badge outline">anonymous</span> : null}
          {profile.suppressed ? <span className="badge outline">suppressed</span> : null}
        </>
      }
      tools={
        <>
          <a
            className="link messages-link"
            href={filterHref(
              userId === null
                ? { values: {}, text: name }
                : { values: { user: [userId] }, text: "" },
            )}
          >
            messages
          </a>
          {userId === null ? null : (
            <Menu
              trigger={<IconButton icon="more" small label="More: delete" />}
              items={[
                {
                  label: "Delete this user…",
                  icon: "deletions",
                  onSelect: () => go({ view: "deletions", path: ["new"], query: { user: userId } }),
                },
              ]}
            />
          )}
        </>
      }
    >
      <div className="pane-body">
        <section className="section profile-summary" aria-label="Summary">
          <p className="muted">
            First seen <SeenAt at={profile.firstSeenAt} />, last <SeenAt at={profile.lastSeenAt} />;{" "}
            {count(profile.events)} {profile.events === 1 ? "event" : "events"}.
          </p>
          <KnownTo sourceIds={profile.sourceIds} />
        </section>
        <Memberships profile={profile} />
        <Traits profile={profile} />
        <Events events={profile.eventList} />
        <Groups groups={profile.groups} />
      </div>
    </EditorPane>
  );
}

function Gone({ error }: { error: Error }) {
  return (
    <section className="pane editor" aria-label="No profile">
      <div className="settled">
        <ProblemText error={error} />
        <p className="muted">It may also have been merged into another profile.</p>
      </div>
    </section>
  );
}

function KnownTo({ sourceIds }: { sourceIds: readonly string[] }) {
  const sources = useLive("sources.list", {}).answer?.items;
  return (
    <p className="muted">
      Known to{" "}
      {(sources === undefined ? [] : sourceIds).map((id, place) => (
        <span key={id}>
          {place > 0 ? ", " : ""}
          <a className="link isolate" href={hrefTo("sources", id)}>
            {nameIn(sources, id, "a deleted source")}
          </a>
        </span>
      ))}
      .
    </p>
  );
}

function Memberships({ profile: { memberships, computed } }: { profile: ProfileDetails }) {
  return (
    <Part
      title="Audiences and computed traits"
      number={memberships.length + computed.length}
      none="Not in any audience that was sent."
    >
      <ul className="facts">
        {memberships.map(({ id, name, key, since }) => (
          <li key={id}>
            <a className="link clip isolate" href={hrefTo("audiences", id)}>
              {name}
            </a>
            <code className="clip isolate">{key}: true</code>
            <span className="quiet">
              sent <SeenAt at={since} />
            </span>
          </li>
        ))}
        {computed.map(({ id, name, key, value, since }) => (
          <li key={id}>
            <a className="link clip isolate" href={hrefTo("audiences", "traits", id)}>
              {name}
            </a>
            <code className="clip isolate" title={valueText(value)}>
              {key}: {valueText(value)}
            </code>
            <span className="quiet">
              sent <SeenAt at={since} />
            </span>
          </li>
        ))}
      </ul>
    </Part>
  );
}

function Traits({ profile: { traitList } }: { profile: ProfileDetails }) {
  return (
    <Part title="Traits" number={traitList.length} none="No identify call has set a trait yet.">
      <ul className="facts">
        {traitList.slice(0, 500).map(({ name, value, at, messageId }) => (
          <li key={name}>
            <span className="clip isolate">{name}</span>
            <code className="clip isolate" title={valueText(value)}>
              {valueText(value)}
            </code>
            <MessageAt
              messageId={messageId}
              at={Date.parse(at)}
              title="The identify call that set it"
              name={`The identify call that set ${name}`}
            />
          </li>
        ))}
      </ul>
      {traitList.length > 500 ? (
        <p className="quiet">and {count(traitList.length - 500)} more</p>
      ) : null}
    </Part>
  );
}

type MessageAtProps = { messageId: string; at: number; title: string; name: string };

/** A link to a message, which shows only when that was. */
function MessageAt({ messageId, at, title, name }: MessageAtProps) {
  return (
    <a className="link quiet" href={hrefTo("live", messageId)} title={title}>
      <span className="sr">{name}, </span>
      <span className="due">
        <Time at={at} />
      </span>
    </a>
  );
}

function Groups({ groups }: { groups: ProfileDetails["groups"] }) {
  if (groups.length === 0) return null;
  return (
    <Part title="Groups" number={groups.length} none="">
      <ul className="facts">
        {groups.map(({ groupId, traits, at }) => (
          <li key={groupId}>
            <span className="clip isolate">{groupId}</span>
            <code className="clip isolate" title={valueText(traits)}>
              {valueText(traits)}
            </code>
            <SeenAt at={at} />
          </li>
        ))}
      </ul>
    </Part>
  );
}

/** Parts of a profile's page: a heading with what stands below it, and a time of the clock. */
export function SeenAt({ at }: { at: string }) {
  const time = Date.parse(at);
  return (
    <span className="due">
      <Time at={time} />
    </span>
  );
}

/** A heading with how many there are, and a sentence when there are none. */
export function Part({
  title,
  number,
  none,
  children,
}: {
  title: string;
  number: number;
  none: string;
  children: ReactNode;
}) {
  return (
    <section className="section" aria-label={title}>
      <div className="section-head">
        <h3>{title}</h3>
        <span className="quiet">{number === 0 ? "" : count(number)}</span>
      </div>
      {number === 0 ? <p className="quiet">{none}</p> : children}
    </section>
  );
}

const firstShown = 50;

/** The events of a user: how often, when last, and the last properties. */
function Events({ events }: { events: ProfileDetails["eventList"] }) {
  const [open, setOpen] = useState<string | null>(null);
  const most = Math.max(1, ...events.map((event) => event.count));
  return (
    <Part title="Events" number={events.length} none="No track call for this user yet.">
      <ul className="event-facts">
        {events.slice(0, firstShown).map((event) => (
          <li key={event.event}>
            <span className="clip isolate">{event.event}</span>
            <span className="event-bar" aria-hidden="true">
              <i style={{ inlineSize: `${Math.max(3, (event.count / most) * 100)}%` }} />
            </span>
            <span className="right">{count(event.count)} ×</span>
            <MessageAt
              messageId={event.lastMessageId}
              at={Date.parse(event.lastAt)}
              title="Most recent"
              name={`The newest ${event.event}`}
            />
            <IconButton
              icon={open === event.event ? "up" : "down"}
              small
              label={`Last properties of ${event.event}`}
              aria-expanded={open === event.event}
              onClick={() => setOpen(open === event.event ? null : event.event)}
            />
            {open === event.event ? (
              <code className="event-last isolate">{valueText(event.lastProperties)}</code>
            ) : null}
          </li>
        ))}
      </ul>
      {events.length > firstShown ? (
        <p className="quiet">and {count(events.length - firstShown)} more</p>
      ) : null}
    </Part>
  );
}
