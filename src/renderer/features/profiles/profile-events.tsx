/** What a user did: each event with how often, when last, and what it said then. */

import { useState } from "react";
import { IconButton } from "../../kit/controls.tsx";
import { count } from "../../kit/words.ts";
import { hashOf } from "../../stores/place.ts";
import { Part, SeenAt } from "./facts.tsx";
import { valueText, type ProfileDetails } from "./profile-words.ts";

const firstShown = 50;

export function Events({ events }: { events: ProfileDetails["eventList"] }) {
  const [open, setOpen] = useState<string | null>(null);
  const most = Math.max(1, ...events.map((event) => event.count));
  return (
    <Part title="Events" number={events.length} none="No track has come for this user yet.">
      <ul className="event-facts">
        {events.slice(0, firstShown).map((event) => (
          <li key={event.event}>
            <span className="clip isolate">{event.event}</span>
            <span className="event-bar" aria-hidden="true">
              <i style={{ inlineSize: `${Math.max(3, (event.count / most) * 100)}%` }} />
            </span>
            <span className="right">{count(event.count)} ×</span>
            <a className="link quiet" href={hashOf({ view: "live", path: [event.lastMessageId], query: {} })} title="The last one">
              <SeenAt at={event.lastAt} />
            </a>
            <IconButton
              icon={open === event.event ? "up" : "down"}
              small
              label={`Last properties of ${event.event}`}
              aria-expanded={open === event.event}
              onClick={() => setOpen(open === event.event ? null : event.event)}
            />
            {open === event.event ? <code className="event-last isolate">{valueText(event.lastProperties)}</code> : null}
          </li>
        ))}
      </ul>
      {events.length > firstShown ? <p className="quiet">and {count(events.length - firstShown)} more</p> : null}
    </Part>
  );
}
