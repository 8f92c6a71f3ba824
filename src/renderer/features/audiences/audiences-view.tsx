/**
 * Audiences and computed traits: the editor with sync in the middle, the sent messages at the
 * right.
 */

import { audienceIds, computedTraitIds } from "../../../domain/ids.ts";
import type { Sync } from "../../../domain/rules.ts";
import { Button, IconButton } from "../../kit/controls.tsx";
import { EmptyState } from "../../kit/empty-state.tsx";
import { Menu, type MenuItem } from "../../kit/floats.tsx";
import { ProblemText } from "../../kit/problem.tsx";
import { count, some, span } from "../../kit/words.ts";
import { newId, useDraftsOnlyOf } from "../../stores/drafts.ts";
import { useLive } from "../../stores/live-data.ts";
import { openOf, usePlace } from "../../stores/place.ts";
import { Collection, type Entry } from "../collection/collection.tsx";
import { AudiencePane } from "./audience-pane.tsx";
import { SentMessages } from "./audience-sent.tsx";
import { audienceKind, type ComputedTrait, traitKind, traitsPath } from "./computed-draft.ts";
import { ComputedTraitPane } from "./computed-trait-pane.tsx";
import "./audiences.css";
import "./rule.css";

const newPaths = { audience: [newId], trait: [traitsPath, newId] };
export const newAudience = (what: keyof typeof newPaths) => (): void =>
  usePlace.getState().go({ view: "audiences", path: newPaths[what] });
const additions: readonly MenuItem[] = [
  { label: "New audience", icon: "audiences", onSelect: newAudience("audience") },
  { label: "New computed trait", icon: "audiences", onSelect: newAudience("trait") },
];

export function AudiencesView() {
  const { answer, error } = useLive("audiences.list", {});
  const traits = useLive("computedTraits.list", {}).answer?.items;
  const destinations = useLive("destinations.list", {}).answer?.items;
  const path = usePlace((place) => place.path);
  const drafts = audienceKind.useDrafts((store) => store.drafts);
  const traitDrafts = traitKind.useDrafts((store) => store.drafts);
  useDraftsOnlyOf(
    audienceIds,
    answer?.items.map(({ id }) => id),
  );
  useDraftsOnlyOf(
    computedTraitIds,
    traits?.map(({ id }) => id),
  );
  if (answer === undefined || traits === undefined || destinations === undefined)
    return <ProblemText error={error} />;

  const audiences = answer.items;
  const showsTrait =
    path[0] === traitsPath ||
    (path[0] === undefined && audiences.length === 0 && traits.length > 0);
  const openId = showsTrait ? path[1] : path[0];
  const isNew = openId === newId;
  const audience = showsTrait ? undefined : openOf(audiences, openId);
  const trait = showsTrait ? openOf(traits, openId) : undefined;
  const shown = audience ?? trait;
  const pane = { named: [...audiences, ...traits], destinations };
  const unsaved = { detail: "not saved yet", inMenu: false };

  const entries: Entry[] = audiences.map((each) => ({
    ...entryOf(each, each.size, drafts[each.id] !== undefined),
    path: [each.id],
    hint: count(each.size),
  }));
  if (isNew && !showsTrait)
    entries.push({ ...unsaved, path: newPaths.audience, label: "New audience" });
  const traitEntries: Entry[] = traits.map((each) => ({
    ...entryOf(each, each.users, traitDrafts[each.id] !== undefined),
    path: [traitsPath, each.id],
    hint: "trait",
  }));
  if (isNew && showsTrait)
    traitEntries.push({ ...unsaved, path: newPaths.trait, label: "New computed trait" });

  return (
    <Collection
      view="audiences"
      title="Audiences"
      entries={[
        ...entries,
        ...traitEntries.map((entry, place) =>
          place > 0 ? entry : { ...entry, heading: "Computed traits" },
        ),
      ]}
      current={
        isNew
          ? newPaths[showsTrait ? "trait" : "audience"]
          : shown && [...(showsTrait ? [traitsPath] : []), shown.id]
      }
      tools={<Menu trigger={<IconButton icon="add" label="New" />} items={additions} />}
      menu={additions}
      empty={isNew || shown !== undefined ? null : <NoAudience isSearched={openId !== undefined} />}
      editor={
        showsTrait ? (
          <ComputedTraitPane key={trait?.id} saved={trait ?? null} {...pane} />
        ) : (
          <AudiencePane key={audience?.id} saved={audience ?? null} {...pane} />
        )
      }
      evidence={
        isNew || shown !== undefined
          ? {
              label: "Sent to receivers",
              content: (
                <SentMessages
                  key={shown?.id}
                  sourceId={shown?.sourceId ?? null}
                  traitKey={shown?.key ?? "trait"}
                  of={showsTrait ? "trait" : "audience"}
                />
              ),
            }
          : undefined
      }
    />
  );
}

/** `isSearched`: the address names one. */
function NoAudience({ isSearched }: { isSearched: boolean }) {
  return (
    <EmptyState
      label="No audience"
      title={isSearched ? "Audience not found" : "Notify receivers when users enter and leave"}
      action={{ label: "Create an audience", run: newAudience("audience") }}
      more={
        <Button icon="add" onClick={newAudience("trait")}>
          Create a computed trait
        </Button>
      }
    >
      An audience is a rule over traits and events, such as “ordered twice within 7 days, each time
      for more than 50”. Receivers get an identify with <code>true</code> for each user who enters
      and <code>false</code> for each who leaves, whether an event or time alone causes it.
    </EmptyState>
  );
}

const entryOf = (synced: Synced & { name: string }, users: number, isUnsaved: boolean) => ({
  label: synced.name,
  aside: isUnsaved ? "unsaved" : some(users, "user"),
  detail: <SyncDetail synced={synced} />,
});

type Synced = Pick<ComputedTrait, "key" | "sync" | "syncing">;

function SyncDetail({ synced: { key, sync, syncing } }: { synced: Synced }) {
  return (
    <>
      <code>{key}</code>{" "}
      <span className="quiet">{syncing === null ? syncWords(sync) : "syncing"}</span>
    </>
  );
}

/** When changes are sent, in the few words of a list. */
function syncWords(sync: Sync): string {
  if (typeof sync !== "string") return `every ${span(sync.everyMs)}`;
  return sync === "manual" ? "manually" : "after each event";
}
