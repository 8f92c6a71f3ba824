/** The names and figures over the lines: each is a link, and says everything in one sentence. */

import type { ReactNode } from "react";
import { OutcomeGlyph, StateGlyph } from "../../kit/glyph.tsx";
import { Icon } from "../../kit/icon.tsx";
import { count, dayAndTime, some } from "../../kit/words.ts";
import { useNow } from "../../stores/clock.ts";
import {
  dueGroups,
  type FlowDestination,
  type FlowModel,
  type FlowWebhook,
  type Origin,
  rateWords,
} from "./flow-model.ts";
import { destinationHref, originHref } from "./flow-places.ts";
import type { Drawing, LabelPlace } from "./map-layout.ts";

type NamesProps = {
  model: FlowModel;
  drawing: Drawing;
  focus: string | null;
  onFocus: (id: string) => void;
};

export function Names(props: NamesProps) {
  const { model, drawing } = props;
  const at = (key: string): LabelPlace | undefined => drawing.labels.get(key);
  const profiles = at("profiles");
  return (
    <>
      {model.origins.map((origin) => (
        <OriginName key={origin.id} origin={origin} place={at(origin.id)} map={props} />
      ))}
      {profiles === undefined ? null : (
        <a
          className="flow-name low"
          href="#/profiles"
          tabIndex={-1}
          data-node=""
          style={{ left: profiles.x, top: profiles.y, maxWidth: profiles.width }}
        >
          <span className="nm">
            <Icon name="profiles" />
            <b>Profiles</b>
          </span>
        </a>
      )}
      {model.destinations.map((destination) => (
        <DestinationName
          key={destination.id}
          destination={destination}
          place={at(destination.id)}
          map={props}
        />
      ))}
      {model.destinations.flatMap((destination) =>
        destination.webhooks.map((webhook, nth) => (
          <WebhookName
            key={webhook.id}
            webhook={webhook}
            destination={destination}
            isFirst={nth === 0}
            place={at(webhook.id)}
            drawing={drawing}
          />
        )),
      )}
    </>
  );
}

const icons = { source: "sources", audience: "audiences", trait: "profiles" } as const;

type Placed = { place: LabelPlace | undefined };

function OriginName({ origin, place, map }: Placed & { origin: Origin; map: NamesProps }) {
  if (place === undefined) return null;
  const { id, kind, name, perSecond, count: n, size } = origin;
  const sentence = [
    `${name}: ${perSecond === 0 ? "nothing moves" : `${perSecond} a second`}`,
    some(n, "message"),
    size === null ? "" : `${some(size, "user")} in`,
  ]
    .filter((part) => part !== "")
    .join(", ");
  if (map.drawing.kind === "loom")
    return (
      <LoomName id={id} place={place} sentence={sentence} map={map} kind="source">
        <b>{name}</b>
        <span>{rateWords(perSecond)}</span>
      </LoomName>
    );
  return (
    <NodeName
      place={place}
      href={originHref(origin)}
      sentence={sentence}
      look={kind === "source" ? "" : "low"}
    >
      <span className="nm">
        <Icon name={icons[kind]} />
        <b>{name}</b>
      </span>
      <span className="fig" style={{ top: place.below - place.y, maxWidth: place.width }}>
        {size === null ? null : (
          <>
            <b>{count(size)}</b> in
          </>
        )}
        {perSecond > 0 ? <b>{rateWords(perSecond)}</b> : null}
        {size === null ? <i>{count(n)}</i> : null}
      </span>
    </NodeName>
  );
}

function DestinationName({
  destination,
  place,
  map,
}: Placed & { destination: FlowDestination; map: NamesProps }) {
  if (place === undefined) return null;
  const { id, name, enabled, perSecond, count: n, waiting, state, webhooks } = destination;
  const sentence = [
    `${name}: ${perSecond === 0 ? "nothing moves" : `${perSecond} a second`}`,
    some(n, "message"),
    enabled ? "" : "disabled",
    waiting === 0 ? "" : `${count(waiting)} waiting`,
    state === "failing" || state === "hanging" ? state : "",
  ]
    .filter((part) => part !== "")
    .join(", ");
  if (map.drawing.kind === "loom") {
    const bad = webhooks.find(({ line }) => line.outcome !== null);
    const isBig = place.below - place.y > 20;
    return (
      <LoomName
        id={id}
        place={place}
        sentence={sentence}
        map={map}
        kind={isBig ? "destination big" : "destination"}
      >
        <b>{name}</b>
        <span>{rateWords(perSecond)}</span>
        {isBig && bad !== undefined ? (
          <>
            <code>{bad.host}</code>
            <em className={`tone ${bad.line.outcome}`}>{bad.line.words}</em>
          </>
        ) : null}
        {enabled ? null : <em>disabled</em>}
      </LoomName>
    );
  }
  return (
    <NodeName place={place} href={destinationHref(id)} sentence={sentence}>
      <span className="nm">
        <Icon name="destinations" />
        <b>{name}</b>
      </span>
      <span className="fig" style={{ top: place.below - place.y, maxWidth: place.width }}>
        {perSecond > 0 ? <b>{rateWords(perSecond)}</b> : null}
        <i>{enabled ? count(n) : "disabled"}</i>
      </span>
    </NodeName>
  );
}

function WebhookName({
  webhook: { host, rest, url, line, last, inFlight },
  destination,
  isFirst,
  place,
  drawing,
}: Placed & {
  webhook: FlowWebhook;
  destination: FlowDestination;
  isFirst: boolean;
  drawing: Drawing;
}) {
  if (place === undefined) return null;
  const sentence = [url, line.words].filter((part) => part !== "").join(": ");
  const latest = last.at(-1);
  const glyph = line.outcome ?? latest?.outcome ?? null;
  if (drawing.kind === "loom")
    return (
      <a
        className="flow-end"
        href={destinationHref(destination.id)}
        aria-label={sentence}
        title={sentence}
        tabIndex={-1}
        data-node=""
        style={{ left: place.x, top: place.y }}
      >
        <OutcomeGlyph outcome={glyph ?? "coming"} />
      </a>
    );
  const isWaiting = isFirst && destination.waiting > 0;
  const shift = isWaiting ? 34 : 0;
  return (
    <>
      <NodeName
        place={{ ...place, x: place.x + shift, width: place.width - (isWaiting ? 96 : 0) }}
        href={destinationHref(destination.id)}
        sentence={sentence}
        look="hook"
      >
        <span className="nm">
          <code>
            <b>{host}</b>
            {rest}
          </code>
        </span>
        <span className="fig" style={{ top: place.below - place.y, maxWidth: place.width }}>
          {isWaiting ? null : (
            <span className="last" aria-hidden="true">
              {last.map(({ outcome }, nth) => (
                // oxlint-disable-next-line react/no-array-index-key -- places in a row of ten
                <OutcomeGlyph key={nth} outcome={outcome} />
              ))}
            </span>
          )}
          <span className={line.outcome === null ? "calm" : `tone strong ${line.outcome}`}>
            {isWaiting ? line.brief : line.words}
          </span>
        </span>
      </NodeName>
      {glyph === null ? null : (
        <span
          className="flow-outcome"
          style={{ left: drawing.width - 33, top: place.y + 18 }}
          aria-hidden="true"
        >
          <OutcomeGlyph outcome={glyph} />
        </span>
      )}
      {line.state === "hanging" ? (
        <span className="flow-pile" style={{ right: 40, top: place.y + 18 }} aria-hidden="true">
          {Array.from({ length: Math.min(8, inFlight) }, (_, nth) => (
            <OutcomeGlyph key={nth} outcome="under_way" />
          ))}
        </span>
      ) : null}
      {isWaiting ? <Waiting destination={destination} drawing={drawing} /> : null}
    </>
  );
}

const maxGroups = 5;

/** The retries of a destination: groups by second, the next one nearest to the webhook. */
function Waiting({
  destination: { id, waiting, due },
  drawing,
}: {
  destination: FlowDestination;
  drawing: Drawing;
}) {
  const siding = drawing.sidings.get(id);
  const [, from, to] = siding ?? [];
  if (from === undefined || to === undefined) return null;
  const groups = dueGroups(due);
  const room = to[0] - from[0];
  const shown = groups.slice(0, Math.max(1, Math.min(maxGroups, Math.floor(room / 52))));
  const next = due[0];
  const now = useNow();
  return (
    <div
      className="flow-waiting"
      style={{ left: from[0] - 34, top: from[1] - 38, width: room + 50 }}
      aria-hidden="true"
    >
      <p>
        <StateGlyph state="waiting" />
        <b>{count(waiting)} waiting</b>
        {next === undefined ? null : (
          <span className="due">next {dayAndTime(next, now ?? next)}</span>
        )}
      </p>
      <div className="groups">
        {shown.toReversed().map(({ at, size }) => (
          <span key={at}>
            <span className="waiting">
              <StateGlyph state="waiting" />
            </span>
            {size > 1 ? <i>×{size}</i> : null}
          </span>
        ))}
      </div>
    </div>
  );
}

function NodeName({
  place,
  href,
  sentence,
  look = "",
  children,
}: {
  place: LabelPlace;
  href: string;
  sentence: string;
  look?: string;
  children: ReactNode;
}) {
  return (
    <a
      className={`flow-name ${look}`}
      href={href}
      tabIndex={-1}
      data-node=""
      style={{ left: place.x, top: place.y, maxWidth: Math.max(40, place.width) }}
    >
      <span className="sr">{sentence}</span>
      <span aria-hidden="true">{children}</span>
    </a>
  );
}

function LoomName({
  id,
  place,
  sentence,
  map: { focus, onFocus },
  kind,
  children,
}: {
  id: string;
  place: LabelPlace;
  sentence: string;
  map: NamesProps;
  kind: string;
  children: ReactNode;
}) {
  return (
    <button
      type="button"
      className={`flow-row ${kind}`}
      aria-pressed={focus === id}
      tabIndex={-1}
      data-node=""
      style={{ left: place.x, top: place.y, width: place.width }}
      onClick={() => onFocus(id)}
    >
      <span className="sr">{sentence}</span>
      <span className="row-words" aria-hidden="true">
        {children}
      </span>
    </button>
  );
}
