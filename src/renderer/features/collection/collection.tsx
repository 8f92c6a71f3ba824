/**
 * The views that set something up: their list at the left, the editor of what is open in the
 * middle, evidence at the right. In a narrow window the list is a menu in the editor's heading. A
 * view supplies its entries, its editor and its words.
 */

import {
  createContext,
  Fragment,
  type KeyboardEvent,
  type ReactNode,
  useContext,
  useEffect,
  useRef,
  useState,
} from "react";
import { CommitField } from "../../kit/commit-field.tsx";
import { IconButton, TextField } from "../../kit/controls.tsx";
import { Menu, type MenuItem } from "../../kit/floats.tsx";
import { focusFirstField, useListFocus } from "../../kit/focus.ts";
import { longList, matchesSearch, SearchMenu } from "../../kit/search-menu.tsx";
import { SplitPane } from "../../kit/split-pane.tsx";
import { newId } from "../../stores/drafts.ts";
import { hashOf, usePlace, type View } from "../../stores/place.ts";
import "../../kit/list-pane.css";

export type Entry = {
  /** Its place within the view. */
  path: readonly string[];
  label: string;
  /** Instead of the label, in the list. */
  name?: ReactNode;
  aside?: ReactNode;
  detail?: ReactNode;
  /** Beside its label in the menu. */
  hint?: string;
  inMenu?: boolean;
  /** Above it in the list. */
  heading?: string | undefined;
};

export type CollectionProps = {
  view: View;
  title: string;
  entries: readonly Entry[];
  /** The path of the open entry. */
  current: readonly string[] | undefined;
  /** Of the entries' places. */
  query?: Record<string, string>;
  add?: { label: string; run: () => void };
  /** In the heading of the list, in place of the button that adds. */
  tools?: ReactNode;
  /** In the list, above and below its entries. */
  above?: ReactNode;
  below?: ReactNode;
  footer?: ReactNode;
  /** In the menu, after the entries. */
  menu?: readonly MenuItem[];
  /** Nothing is open: in place of the editor, and the list stays in a narrow window as well. */
  empty?: ReactNode;
  editor: ReactNode;
  evidence?: { label: string; content: ReactNode } | undefined;
};

type Others = { items: readonly MenuItem[]; title: string; size: number };

const OthersContext = createContext<Others>({ items: [], title: "", size: 0 });

export function Collection(props: CollectionProps) {
  const { view, title, entries, query = {}, menu = [], empty = null, editor, evidence } = props;
  const others = entries
    .filter(({ inMenu }) => inMenu !== false)
    .map(({ path, label, hint }): MenuItem => {
      const go = (): void => usePlace.getState().go({ view, path: [...path], query });
      return {
        label,
        words: path.join(" "),
        onSelect: go,
        ...(hint === undefined ? {} : { hint }),
      };
    });
  const open = (
    <OthersContext value={{ items: [...others, ...menu], title, size: others.length }}>
      {empty ?? editor}
    </OthersContext>
  );
  return (
    <div className={empty === null ? "list-and-editor" : "list-and-editor empty-list"}>
      <h1 className="sr">{title}</h1>
      <EntryList {...props} />
      <div className="list-edge" />
      {evidence === undefined ? (
        open
      ) : (
        <SplitPane
          name={view}
          label={`Width of: ${evidence.label}`}
          first={open}
          second={evidence.content}
          initial="var(--evidence)"
          min={340}
          max={900}
        />
      )}
    </div>
  );
}

function EntryList({
  view,
  title,
  entries,
  current,
  query = {},
  add,
  tools,
  above,
  below,
  footer,
}: CollectionProps) {
  const currentPath = current?.join("/");
  const [search, setSearch] = useState("");
  const isLong = entries.length >= longList && above === undefined;
  const shown = isLong ? entries.filter((entry) => matches(entry, search)) : entries;
  const list = useRef<HTMLUListElement>(null);
  useListFocus(() => list.current?.querySelector<HTMLElement>("[aria-current]")?.focus());
  return (
    <nav className="pane list-pane" aria-label={title}>
      <header className="pane-title">
        <h2 className="clip grow">{title}</h2>
        {add === undefined ? (
          tools
        ) : (
          <IconButton icon="add" label={add.label} onClick={() => add.run()} />
        )}
      </header>
      <ul ref={list} className="pane-body" onKeyDown={moveAmongEntries}>
        {above}
        {isLong ? (
          <li className="list-search">
            <TextField
              aria-label={`Search ${title.toLowerCase()}`}
              placeholder={`Search ${title.toLowerCase()}`}
              value={search}
              onChange={(event) => setSearch(event.currentTarget.value)}
            />
            {shown.length > 0 ? null : <span className="muted">Nothing has this name.</span>}
          </li>
        ) : null}
        {shown.map(({ path, label, name = label, aside, detail, heading }) => (
          <Fragment key={path.join("/")}>
            {heading === undefined ? null : <li className="list-heading">{heading}</li>}
            <li>
              <a
                href={hashOf({ view, path: [...path], query })}
                className="entry"
                aria-current={path.join("/") === currentPath ? "true" : undefined}
              >
                <span className="strong clip isolate">{name}</span>
                <span className="quiet">{aside}</span>
                <span className="entry-detail clip isolate">{detail}</span>
              </a>
            </li>
          </Fragment>
        ))}
        {below}
      </ul>
      {footer}
    </nav>
  );
}

/** By its name, its place and what stands beside its name. */
const matches = ({ label, hint = "", path }: Entry, search: string): boolean =>
  matchesSearch(`${label} ${hint} ${path.join(" ")}`, search);

const steps: Readonly<Record<string, number>> = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1 };

/** The focus moves; Enter opens. */
function moveAmongEntries(event: KeyboardEvent<HTMLElement>): void {
  const by = steps[event.key];
  const entries = [...event.currentTarget.querySelectorAll<HTMLElement>(".entry")];
  const at = entries.indexOf(event.target as HTMLElement);
  if (by === undefined || at === -1 || event.ctrlKey || event.metaKey) return;
  event.preventDefault();
  entries[at + by]?.focus();
}

type EditorPaneProps = {
  label: string;
  title: ReactNode;
  /** Its name can be changed in its heading. What was just created has it selected. */
  onRename?: (name: string) => Promise<unknown>;
  kind?: "editor" | "scenario";
  /** The name of the menu with the other entries. */
  others: string;
  /** Beside its name. */
  facts?: ReactNode;
  /** At the right of its heading. */
  tools?: ReactNode;
  children: ReactNode;
};

export function EditorPane({
  label,
  title,
  onRename,
  kind = "editor",
  others,
  facts,
  tools,
  children,
}: EditorPaneProps) {
  const { items, title: list, size } = useContext(OthersContext);
  const isNew = usePlace((place) => place.path.at(-1) === newId);
  const pane = useRef<HTMLElement>(null);
  useEffect(() => {
    const body = pane.current?.querySelector<HTMLElement>(".pane-body");
    if (isNew && body !== null && body !== undefined) focusFirstField(body);
  }, [isNew]);
  return (
    <section ref={pane} className={`pane ${kind}`} aria-label={label}>
      <header className="pane-title">
        <h2 className={onRename === undefined ? "clip isolate" : "sr"}>{title}</h2>
        {onRename === undefined || typeof title !== "string" ? null : (
          <TitleField name={title} onRename={onRename} />
        )}
        {items.length === 0 ? null : (
          <span className="others">
            {size < longList ? (
              <Menu trigger={<IconButton icon="down" label={others} small />} items={items} />
            ) : (
              <SearchMenu
                trigger={<IconButton icon="down" label={others} small />}
                label={others}
                search={{
                  label: `Search ${list.toLowerCase()}`,
                  placeholder: `Search ${list.toLowerCase()}`,
                }}
                items={items}
              />
            )}
          </span>
        )}
        {facts}
        <span className="pane-tools">{tools}</span>
      </header>
      {children}
    </section>
  );
}

function TitleField({
  name,
  onRename,
}: {
  name: string;
  onRename: (name: string) => Promise<unknown>;
}) {
  const change = usePlace((place) => place.change);
  const isNew = usePlace((place) => place.query["name"] === "edit");
  return (
    <CommitField
      label="Name"
      shown="hidden"
      name="title-field"
      text={name}
      startsSelected={isNew}
      onCommit={async (text) => {
        await onRename(text);
        change({ query: { name: null } });
      }}
    />
  );
}
