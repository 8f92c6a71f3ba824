/** The source of an audience or a computed trait: Hookyard makes its messages, so there is nothing to set up here. */

import type { AnswerOf } from "../../../contract/contract.ts";
import { OthersMenu, type Other } from "../../kit/list-pane.tsx";
import { useLive } from "../../stores/live-data.ts";
import { hashOf } from "../../stores/place.ts";
import { filterHref } from "../live/filter-href.ts";

export function AudienceSource({ source: { id, name }, others }: { source: AnswerOf<"sources.get">; others: readonly Other[] }) {
  const audience = useLive("audiences.list", {}).answer?.items.find(({ sourceId }) => sourceId === id);
  const trait = useLive("computedTraits.list", {}).answer?.items.find(({ sourceId }) => sourceId === id);
  const owner = audience ?? trait;
  return (
    <section className="pane editor" aria-label={`Source ${name}`}>
      <header className="pane-title">
        <h2 className="clip isolate">{name}</h2>
        <OthersMenu label="Another source" others={others} />
      </header>
      <div className="pane-body">
        <div className="settled">
          <p className="muted">
            The identify messages of {trait === undefined ? "an audience" : "a computed trait"} come from here. It is made, connected and
            deleted with it, and clients cannot send to it.
          </p>
          {owner === undefined ? null : (
            <p>
              <a
                className="link"
                href={hashOf({ view: "audiences", path: trait === undefined ? [owner.id] : ["traits", owner.id], query: {} })}
              >
                Open {owner.name}
              </a>
            </p>
          )}
          <p>
            <a className="link" href={filterHref({ values: { source: [name] }, text: "" })}>
              Its messages in Live
            </a>
          </p>
        </div>
      </div>
    </section>
  );
}
