/**
 * Tabs and what they show. Arrows move between them; tools of the chosen tab stand at the right
 * end.
 */

import { useId, type ReactNode } from "react";

type TabOption<Value extends string> = { value: Value; label: string; count?: number };

type TabsProps<Value extends string> = {
  label: string;
  tab: Value;
  tabs: readonly TabOption<Value>[];
  onChange: (tab: Value) => void;
  tools?: ReactNode;
  children: ReactNode;
};

export function Tabs<Value extends string>({
  label,
  tab,
  tabs,
  onChange,
  tools,
  children,
}: TabsProps<Value>) {
  const id = useId();
  const move = (to: number, list: HTMLElement): void => {
    const place = (to + tabs.length) % tabs.length;
    const next = tabs[place];
    if (next === undefined) return;
    onChange(next.value);
    (list.children[place] as HTMLElement).focus();
  };
  return (
    <>
      <div className="tabs">
        <div className="tablist" role="tablist" aria-label={label}>
          {tabs.map(({ value, label: word, count }, place) => (
            <button
              key={value}
              type="button"
              role="tab"
              id={`${id}-${value}`}
              aria-selected={value === tab}
              aria-controls={`${id}-panel`}
              tabIndex={value === tab ? 0 : -1}
              onClick={() => onChange(value)}
              onKeyDown={(event) => {
                const to = {
                  ArrowRight: place + 1,
                  ArrowLeft: place - 1,
                  Home: 0,
                  End: tabs.length - 1,
                }[event.key];
                const list = event.currentTarget.parentElement;
                if (to === undefined || list === null) return;
                event.preventDefault();
                move(to, list);
              }}
            >
              {word}
              {count === undefined ? null : (
                <>
                  {" "}
                  <span className="n">{count}</span>
                </>
              )}
            </button>
          ))}
        </div>
        {tools === undefined ? null : <span className="tools">{tools}</span>}
      </div>
      <div role="tabpanel" id={`${id}-panel`} aria-labelledby={`${id}-${tab}`}>
        {children}
      </div>
    </>
  );
}
