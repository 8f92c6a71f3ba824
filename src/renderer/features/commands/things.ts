/** What has a name or an id, found by either: each is opened where it is shown. */

import { useMemo } from "react";
import { deliveryIds, messageIds } from "../../../domain/ids.ts";
import type { Command } from "../../stores/commands.ts";
import { useLive, useOnce } from "../../stores/live-data.ts";
import { usePlace, type View } from "../../stores/place.ts";
import { traitsPath } from "../audiences/computed-draft.ts";
import { profileName } from "../profiles/profile-words.ts";
import { useOwnScenarios } from "../scenarios/own-scenarios.ts";
import { nameIn } from "../scenarios/scenario-words.ts";
import { settingsSections } from "../settings/settings-view.tsx";
import { useDebounced } from "../../kit/use-debounced.ts";

type Thing = {
  label: string;
  /** What it is. */ hint: string;
  view: Exclude<View, "stage">;
  path: readonly string[];
  also?: string;
  query?: Record<string, string>;
};

const maxLabel = 100;

function opened({ label, hint, view, path, also = "", query = {} }: Thing): Command {
  return {
    id: `open ${view} ${path.join(" ")}`,
    label: label.slice(0, maxLabel),
    icon: view,
    hint,
    also: `${path.join(" ")} ${also}`,
    run: () => usePlace.getState().go({ view, path: [...path], query }),
  };
}

const settings: readonly Thing[] = settingsSections.map(({ id, title, detail }) => ({
  label: title,
  hint: "settings",
  view: "settings",
  path: [id],
  also: detail,
}));

/** Whatever is set up, while something is typed. */
export function useThings(text: string): readonly Command[] {
  const sources = useLive("sources.list", {}).answer?.items;
  const destinations = useLive("destinations.list", {}).answer?.items;
  const endpoints = useLive("endpoints.list", {}).answer?.items;
  const clients = useLive("clients.list", {}).answer?.items;
  const audiences = useLive("audiences.list", {}).answer?.items;
  const traits = useLive("computedTraits.list", {}).answer?.items;
  const scenarios = useOnce("scenarios.list", {}).answer?.items;
  const own = useOwnScenarios(({ items }) => items);
  const named = useMemo(
    (): readonly Command[] =>
      [
        ...(sources ?? []).map(({ id, name, writeKey }): Thing => {
          return { label: name, hint: "source", view: "sources", path: [id], also: writeKey };
        }),
        ...(destinations ?? []).map(({ id, name, webhooks }): Thing => {
          const also = webhooks.map(({ url }) => url).join(" ");
          return { label: name, hint: "destination", view: "destinations", path: [id], also };
        }),
        ...(endpoints ?? []).map(({ id, name, url }): Thing => {
          return { label: name, hint: "test endpoint", view: "endpoints", path: [id], also: url };
        }),
        ...(clients ?? []).map(({ id, name }): Thing => {
          return { label: name, hint: "client", view: "clients", path: [id] };
        }),
        ...(audiences ?? []).map(({ id, name, key }): Thing => {
          return { label: name, hint: "audience", view: "audiences", path: [id], also: key };
        }),
        ...(traits ?? []).map(({ id, name, key }): Thing => {
          const path = [traitsPath, id];
          return { label: name, hint: "computed trait", view: "audiences", path, also: key };
        }),
        ...(scenarios ?? []).map(({ file, name }): Thing => {
          return { label: name, hint: "scenario", view: "scenarios", path: [file] };
        }),
        ...own.map(({ id, text: yaml }): Thing => {
          return { label: nameIn(yaml), hint: "scenario", view: "scenarios", path: ["own", id] };
        }),
        ...settings,
      ].map(opened),
    [sources, destinations, endpoints, clients, audiences, traits, scenarios, own],
  );
  const found = useFound(text);
  return text === "" ? [] : [...found, ...named];
}

/** As a client or Hookyard makes an id: long, and without spaces. */
const idPattern = /^[\w.:@-]{12,200}$/;

/** What only the pipeline knows: messages, deliveries and users. */
function useFound(typed: string): readonly Command[] {
  const { value: text } = useDebounced(typed);
  const isMessage = messageIds.parse(text) !== null;
  const isDelivery = deliveryIds.parse(text) !== null;
  const message = useLive("messages.get", isMessage ? { id: text } : null).answer;
  const delivery = useOnce("deliveries.get", isDelivery ? { id: text } : null).answer;
  const isOther = !isMessage && !isDelivery && /^[^\s"]{2,200}$/.test(text);
  const users = useLive("profiles.list", isOther ? { search: text, limit: 5 } : null).answer;
  const search = `"${text}"`;
  const byId = useLive(
    "messages.list",
    isOther && idPattern.test(text) ? { search, limit: 3 } : null,
  ).answer;
  const things: Thing[] = (users?.items ?? []).map((profile) => ({
    label: profileName(profile),
    hint: "profile",
    view: "profiles",
    path: [profile.id],
    also: text,
  }));
  for (const { id, event, type, messageId } of [
    ...(message === undefined ? [] : [message]),
    ...(byId?.items ?? []),
  ]) {
    const label = `${event ?? type ?? "message"} ${messageId}`;
    things.push({ label, hint: "message", view: "live", path: [id], also: text });
  }
  if (delivery !== undefined)
    things.push({
      label: `Delivery ${delivery.id}, ${delivery.state}`,
      hint: "delivery",
      view: "live",
      path: [delivery.messageRowId],
      also: text,
      query: { delivery: delivery.id },
    });
  return typed === text ? things.map(opened) : [];
}
