/**
 * One change, its cause and its effect, from left to right: a user, an audience, a receiver. The
 * place is `#/stage/<profile>/<audience>/<destination>`; stories open it.
 */

import type { ReactNode } from "react";
import type { AnswerOf } from "../../../contract/contract.ts";
import { bytesOf } from "../../kit/byte-rows.ts";
import { Sentence } from "../../kit/code-rows.tsx";
import { State } from "../../kit/glyph.tsx";
import { Icon, type IconName } from "../../kit/icon.tsx";
import { ProblemText } from "../../kit/problem.tsx";
import { calendarDate, count, duration } from "../../kit/words.ts";
import { useClock } from "../../stores/clock.ts";
import { useLive } from "../../stores/live-data.ts";
import { usePlace } from "../../stores/place.ts";
import { addressOf } from "../flow/flow-model.ts";
import "./stage.css";

type Profile = AnswerOf<"profiles.get">;
type Audience = AnswerOf<"audiences.get">;
type Message = AnswerOf<"messages.get">;

/** As many as the last row of a room can read. */
const maxRows = 5;
const maxLines = 9;
const dayMs = 86_400_000;

export function StageView() {
  const [profileId, audienceId, destinationId] = usePlace(({ path }) => path);
  const { answer: profile, error } = useLive(
    "profiles.get",
    profileId === undefined ? null : { id: profileId },
  );
  const audience = useLive(
    "audiences.get",
    audienceId === undefined ? null : { id: audienceId },
  ).answer;
  const sent = useLive(
    "messages.list",
    audience === undefined ? null : { sourceId: audience.sourceId, limit: 1 },
  ).answer?.items[0];
  const change = useLive("messages.get", sent === undefined ? null : { id: sent.id }).answer;
  const destination = useLive("destinations.list", {}).answer?.items.find(
    ({ id }) => id === destinationId,
  );
  const newest = useLive(
    "deliveries.list",
    destinationId === undefined ? null : { destinationId, limit: 1 },
  ).answer?.items[0];
  const message = useLive(
    "messages.get",
    newest === undefined ? null : { id: newest.messageRowId },
  ).answer;
  if (profile === undefined || audience === undefined || destination === undefined)
    return (
      <section className="story-stage" aria-label="Stage">
        <h1 className="sr">Stage</h1>
        <ProblemText error={error} />
      </section>
    );
  const isCaused = message !== undefined && message.cause !== null;
  const latest = change?.userId === profile.userId ? change : undefined;
  return (
    <section className="story-stage" aria-label="Stage">
      <h1 className="sr">{nameOf(profile)}</h1>
      <Column icon="profiles" title={nameOf(profile)} more={textOf(profile.traits["city"])}>
        <LastEvent profile={profile} audience={audience} />
        <p className="stage-why">
          {latest?.cause ? (
            <Sentence text={latest.cause.sentence} />
          ) : (
            `${nameOf(profile)} is known since ${calendarDate(Date.parse(profile.firstSeenAt))}.`
          )}
        </p>
      </Column>
      <Column
        icon="audiences"
        title={audience.name}
        more={`${count(audience.size)} in`}
        isCaused={isCaused}
      >
        <Members audience={audience} profile={profile} change={latest} />
      </Column>
      <Column
        icon="destinations"
        title={destination.name}
        more={addressOf(destination.webhooks[0]?.url ?? "none").host}
        isCaused={isCaused}
      >
        {message === undefined ? (
          <p className="stage-why">Nothing was sent yet.</p>
        ) : (
          <Sent message={message} destinationId={destination.id} />
        )}
      </Column>
    </section>
  );
}

const textOf = (value: unknown): string =>
  typeof value === "string" || typeof value === "number" ? String(value) : "";

const nameOf = ({ traits, userId }: Pick<Profile, "traits" | "userId">): string =>
  typeof traits["name"] === "string" ? traits["name"] : (userId ?? "somebody");

function Column({
  icon,
  title,
  more,
  isCaused = false,
  children,
}: {
  icon: IconName;
  title: string;
  more: string;
  /** Its line shows what an audience has caused. */
  isCaused?: boolean;
  children: ReactNode;
}) {
  return (
    <section className="stage-column" aria-label={title}>
      <header>
        <Icon name={icon} />
        <h2 className="clip">{title}</h2>
        <span className="quiet clip">{more}</span>
      </header>
      <div className="stage-track" data-caused={isCaused ? "" : undefined} />
      {children}
    </section>
  );
}

/** The condition of the rule that time alone can end. */
function windowOf(rule: unknown): { event: string; withinDays: number } | null {
  if (typeof rule !== "object" || rule === null) return null;
  const { event, withinDays } = rule as Record<string, unknown>;
  if (typeof event === "string" && typeof withinDays === "number") return { event, withinDays };
  for (const part of Object.values(rule).flat()) {
    const found = windowOf(part);
    if (found !== null) return found;
  }
  return null;
}

/** The last event that the rule asks for, and whether it lies within the rule's days. */
function LastEvent({ profile, audience }: { profile: Profile; audience: Audience }) {
  const clock = useClock();
  const asked = windowOf(audience.rule);
  const last = profile.eventList.find(({ event }) => event === asked?.event);
  if (clock === undefined || asked === null || last === undefined) return null;
  const { total, currency } = (last.lastProperties ?? {}) as Record<string, unknown>;
  const worth = [total, currency].map(textOf).filter(Boolean).join(" ");
  const now = Date.parse(clock.now);
  const at = Date.parse(last.lastAt);
  const from = Math.min(at, now - asked.withinDays * dayMs);
  const place = (ms: number): string => `${8 + (84 * (ms - from)) / Math.max(1, now - from)}%`;
  const isWithin = at >= now - asked.withinDays * dayMs;
  return (
    <figure className="stage-time">
      <figcaption>
        {asked.event}
        {worth === "" ? null : <b> {worth}</b>}
      </figcaption>
      <div className="stage-axis">
        <div className="stage-window" style={{ left: place(now - asked.withinDays * dayMs) }}>
          {isWithin ? "" : `within ${asked.withinDays} days: nothing`}
        </div>
        <i className="stage-event" style={{ left: place(at) }} />
      </div>
      <p>
        <span>{calendarDate(at)}</span>
        <b>now</b>
      </p>
    </figure>
  );
}

function Members({
  audience,
  profile,
  change,
}: {
  audience: Audience;
  profile: Profile;
  change: Message | undefined;
}) {
  const members = useLive("profiles.list", { audienceId: audience.id, limit: maxRows }).answer
    ?.items;
  if (members === undefined) return null;
  const others = members.filter(({ id }) => change === undefined || id !== profile.id);
  const hasLeft = !members.some(({ id }) => id === profile.id);
  if (others.length === 0 && change === undefined)
    return <p className="stage-why">Nobody is in yet.</p>;
  return (
    <ul className="stage-rows">
      {change === undefined ? null : (
        <li>
          <span className="clip">{nameOf(profile)}</span>
          <b>
            <Icon name={hasLeft ? "down" : "up"} /> {hasLeft ? "left" : "entered"}
          </b>
        </li>
      )}
      {others.slice(0, maxRows - (change === undefined ? 0 : 1)).map((each) => (
        <li key={each.id}>
          <span className="clip">{nameOf(each)}</span>
          <span className="quiet">{textOf(each.traits["city"])}</span>
        </li>
      ))}
    </ul>
  );
}

const shown = ["type", "userId", "event", "traits", "properties"];

function Sent({ message, destinationId }: { message: Message; destinationId: string }) {
  const delivery = message.deliveries.find((each) => each.destinationId === destinationId);
  if (delivery === undefined) return null;
  const attempt = delivery.attempts.at(-1);
  return (
    <>
      <pre className="code stage-body" aria-label="What was sent">
        {linesOf(delivery.payload).map((line, place) => (
          // oxlint-disable-next-line react/no-array-index-key -- lines never move
          <span key={place} className="line">
            {`${line}\n`}
          </span>
        ))}
      </pre>
      <p className="stage-result">
        <State state={delivery.state} />
        {attempt === undefined ? null : (
          <span className="quiet">
            {attempt.response === null
              ? attempt.outcome.replace("_", " ")
              : `${attempt.response.status} in ${duration(attempt.durationMs)}`}
          </span>
        )}
      </p>
    </>
  );
}

/** Of the body what an audience asks about: who, what, and with which values. */
function linesOf(payload: Message["deliveries"][number]["payload"]): string[] {
  const text = new TextDecoder().decode(bytesOf(payload));
  try {
    const body = JSON.parse(text) as Record<string, unknown>;
    const members = shown.flatMap((name) => {
      const value = body[name];
      const isEmpty = typeof value === "object" && Object.keys(value ?? {}).length === 0;
      return value === undefined || isEmpty ? [] : [[name, value] as const];
    });
    const lines = JSON.stringify(Object.fromEntries(members), null, 2).split("\n");
    return lines.length > maxLines ? [...lines.slice(0, maxLines - 1), "…"] : lines;
  } catch {
    return text.slice(0, 400).split("\n").slice(0, maxLines);
  }
}
