/**
 * The frame of the views that set something up: the list at the left, the editor in the middle, evidence at the right. In a
 * narrow window the list is a menu in the editor's heading.
 */

import type { ReactNode } from "react";
import { IconButton } from "./controls.tsx";
import { Menu, type MenuItem } from "./floats.tsx";
import { SplitPane } from "./split-pane.tsx";
import "./list-pane.css";

export function ListAndEditor({
  list,
  editor,
  evidence,
  name,
  title,
  isEmpty = false,
}: {
  /** The view's; in a narrow window only screen readers get it. */
  title: string;
  list: ReactNode;
  editor: ReactNode;
  evidence?: { label: string; content: ReactNode } | undefined;
  /** Under which the width of the evidence is kept. */
  name: string;
  /** Nothing to edit: the list stays in a narrow window as well. */
  isEmpty?: boolean;
}) {
  return (
    <div className={isEmpty ? "list-and-editor empty-list" : "list-and-editor"}>
      <h1 className="sr">{title}</h1>
      {list}
      <div className="list-edge" />
      {evidence === undefined ? (
        editor
      ) : (
        <SplitPane
          name={name}
          label={`Width of: ${evidence.label}`}
          first={editor}
          second={evidence.content}
          initial="var(--evidence)"
          min={340}
          max={900}
        />
      )}
    </div>
  );
}

export function ListPane({
  title,
  tools,
  children,
  footer,
}: {
  title: string;
  tools?: ReactNode;
  children: ReactNode;
  footer?: ReactNode;
}) {
  return (
    <nav className="pane list-pane" aria-label={title}>
      <header className="pane-title">
        <h2 className="clip grow">{title}</h2>
        {tools}
      </header>
      <ul className="pane-body">{children}</ul>
      {footer}
    </nav>
  );
}

export function ListEntry({
  href,
  isCurrent,
  name,
  aside,
  detail,
}: {
  href: string;
  isCurrent: boolean;
  name: ReactNode;
  aside?: ReactNode;
  detail?: ReactNode;
}) {
  return (
    <li>
      <a href={href} className="entry" aria-current={isCurrent ? "true" : undefined}>
        <span className="strong clip isolate">{name}</span>
        <span className="quiet">{aside}</span>
        <span className="entry-detail clip isolate">{detail}</span>
      </a>
    </li>
  );
}

export type Other = { label: string; hint?: string; go: () => void };

/** What stands for the list where there is no room for it. */
export function OthersMenu({ label, others, more = [] }: { label: string; others: readonly Other[]; more?: readonly MenuItem[] }) {
  const items: MenuItem[] = others.map(({ label: name, hint, go }) => ({
    label: name,
    onSelect: go,
    ...(hint === undefined ? {} : { hint }),
  }));
  return (
    <span className="others">
      <Menu trigger={<IconButton icon="down" label={label} small />} items={more.length === 0 ? items : [...items, "line", ...more]} />
    </span>
  );
}
