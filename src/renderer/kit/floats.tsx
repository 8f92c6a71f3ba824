/** What floats over the page, on unstyled accessible primitives: menus and dialogs. */

import { Dialog as BaseDialog } from "@base-ui/react/dialog";
import { Menu as BaseMenu } from "@base-ui/react/menu";
import { type ReactElement, type ReactNode, type RefObject, useEffect, useRef } from "react";
import { Icon, type IconName } from "./icon.tsx";

export type MenuItem =
  | {
      label: string;
      icon?: IconName;
      hint?: string;
      /** It is found by these as well, where the menu has a search. */
      words?: string;
      onSelect: () => void;
      disabled?: boolean;
    }
  | "line";

const itemsOf = new WeakMap<Element, readonly MenuItem[]>();

/** Undefined for what opens no menu. */
export const menuItemsOf = (trigger: Element): readonly MenuItem[] | undefined =>
  itemsOf.get(trigger);

/** For the button that opens them. */
export function useMenuItems(items: readonly MenuItem[]): RefObject<HTMLButtonElement | null> {
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (button.current !== null) itemsOf.set(button.current, items);
  });
  return button;
}

export function Menu({ trigger, items }: { trigger: ReactElement; items: readonly MenuItem[] }) {
  const button = useMenuItems(items);
  return (
    <BaseMenu.Root>
      <BaseMenu.Trigger ref={button} render={trigger} />
      <BaseMenu.Portal>
        <BaseMenu.Positioner sideOffset={4} align="end" className="floating">
          <BaseMenu.Popup className="menu">
            {items.map((item, place) =>
              item === "line" ? (
                // oxlint-disable-next-line react/no-array-index-key -- a line has nothing but its place
                <BaseMenu.Separator key={place} render={<hr />} />
              ) : (
                <BaseMenu.Item
                  key={item.label}
                  className="menu-item"
                  disabled={item.disabled}
                  onClick={item.onSelect}
                >
                  {item.icon === undefined ? null : <Icon name={item.icon} />}
                  {item.label}
                  {item.hint === undefined ? null : <span className="hint">{item.hint}</span>}
                </BaseMenu.Item>
              ),
            )}
          </BaseMenu.Popup>
        </BaseMenu.Positioner>
      </BaseMenu.Portal>
    </BaseMenu.Root>
  );
}

/**
 * Only before what cannot be undone or touches many, and for what needs the whole attention for a
 * moment.
 */
export function Dialog({
  open,
  onClose,
  title,
  children,
  actions,
  wide = false,
  focus,
}: {
  open: boolean;
  onClose: () => void;
  title: string;
  children: ReactNode;
  actions?: ReactNode;
  wide?: boolean;
  /** Where one begins to type; the first control when left out. */
  focus?: RefObject<HTMLElement | null>;
}) {
  return (
    <BaseDialog.Root open={open} onOpenChange={(isOpen) => (isOpen ? undefined : onClose())}>
      <BaseDialog.Portal>
        <BaseDialog.Backdrop className="backdrop" />
        <BaseDialog.Popup className={wide ? "dialog wide" : "dialog"} initialFocus={focus}>
          <header>
            <BaseDialog.Title>{title}</BaseDialog.Title>
          </header>
          <div className="body" tabIndex={wide ? 0 : undefined}>
            {children}
          </div>
          {actions === undefined ? null : <footer>{actions}</footer>}
        </BaseDialog.Popup>
      </BaseDialog.Portal>
    </BaseDialog.Root>
  );
}
