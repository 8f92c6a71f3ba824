/** Buttons, choices, fields: the parts that take a press or a key. */

import {
  type ChangeEvent,
  type ComponentPropsWithRef,
  type KeyboardEvent,
  type ReactNode,
  useEffect,
  useRef,
  useState,
} from "react";
import { focusAdded } from "./focus.ts";
import { Icon, type IconName } from "./icon.tsx";
import { useAction } from "./use-action.ts";

export function Kbd({ children }: { children: ReactNode }) {
  return <kbd aria-hidden="true">{children}</kbd>;
}

type ButtonProps = Omit<ComponentPropsWithRef<"button">, "className"> & {
  look?: "primary" | "outlined" | "quiet";
  small?: boolean;
  icon?: IconName;
  /** The key that does the same. */
  shortcut?: string;
  /**
   * The action is running. The button looks disabled and keeps the focus, which a disabled button
   * loses.
   */
  isBusy?: boolean;
};

export function Button({
  look = "outlined",
  small = false,
  icon,
  shortcut,
  isBusy,
  children,
  type = "button",
  onClick,
  ...rest
}: ButtonProps) {
  const name = ["btn", look === "outlined" ? "" : look, small ? "small" : ""]
    .filter(Boolean)
    .join(" ");
  return (
    <button
      {...rest}
      type={type}
      className={name}
      aria-keyshortcuts={shortcut}
      aria-disabled={isBusy || undefined}
      onClick={icon === "add" ? adding(onClick) : onClick}
    >
      {icon === undefined ? null : <Icon name={icon} />}
      {children}
      {shortcut === undefined ? null : <Kbd>{shortcut}</Kbd>}
    </button>
  );
}

/** What it adds takes the focus. */
const adding =
  (onClick: ButtonProps["onClick"]): ButtonProps["onClick"] =>
  (event) => {
    focusAdded(event.currentTarget);
    onClick?.(event);
  };

type IconButtonProps = Omit<ComponentPropsWithRef<"button">, "className" | "aria-label"> & {
  icon: IconName;
  label: string;
  shortcut?: string;
  small?: boolean;
};

export function IconButton({
  icon,
  label,
  shortcut,
  small = false,
  type = "button",
  ...rest
}: IconButtonProps) {
  return (
    <button
      title={shortcut === undefined ? label : `${label} (${shortcut})`}
      {...rest}
      type={type}
      className={small ? "icon-btn small" : "icon-btn"}
      aria-label={label}
      aria-keyshortcuts={shortcut}
    >
      <Icon name={icon} small={small} />
    </button>
  );
}

/**
 * A value that is saved as soon as it is chosen is shown at once. The old one is shown again when
 * the save resolves to false, which is an `attempt` that shows its reason, or rejects: then the
 * control shows the reason.
 */
function useChosen<Value>(value: Value) {
  const [chosen, setChosen] = useState<{ value: Value } | null>(null);
  const { problem, attempt } = useAction();
  const saving = useRef(0);
  const shown = useRef(value);
  shown.current = value;
  useEffect(() => {
    if (saving.current === 0) setChosen(null);
  }, [value]);
  /** `answer`: what the handler returned. Only a promise is a save. */
  const choose = async (next: Value, answer: unknown): Promise<void> => {
    if (!(answer instanceof Promise)) return;
    const before = shown.current;
    setChosen({ value: next });
    saving.current += 1;
    let isSaved: unknown = false;
    await attempt(async () => {
      isSaved = await answer;
    });
    saving.current -= 1;
    // What was saved stays chosen until it comes back as the value.
    if (saving.current === 0 && (isSaved === false || shown.current !== before)) setChosen(null);
  };
  return { shown: chosen === null ? value : chosen.value, choose, refusal: problem?.message };
}

function Refusal({ children }: { children: string | undefined }) {
  return children === undefined ? null : (
    <span className="labelled-error" role="alert">
      {children}
    </span>
  );
}

/** A value is its own label unless another is given. */
type Option<Value extends string> = Value | { value: Value; label: ReactNode };

const labelled = <Value extends string>(options: readonly Option<Value>[]) =>
  options.map((option) => (typeof option === "string" ? { value: option, label: option } : option));

/** A choice of few. Arrows move, as in every radio group. */
export function Choice<Value extends string>({
  label,
  value,
  options: given,
  onChange,
  small = false,
  name,
}: {
  label: string;
  value: Value;
  options: readonly Option<Value>[];
  onChange: (value: Value) => unknown;
  small?: boolean;
  /** An additional class, for the page's layout. */
  name?: string;
}) {
  const options = labelled(given);
  const { shown, choose, refusal } = useChosen(value);
  const change = (next: Value): void => void choose(next, onChange(next));
  const move = (from: number, by: number, group: HTMLElement): void => {
    const at = (from + by + options.length) % options.length;
    const next = options[at];
    if (next === undefined) return;
    change(next.value);
    (group.children[at] as HTMLElement).focus();
  };
  return (
    <>
      <div
        className={["seg", small ? "small" : "", name ?? ""].filter(Boolean).join(" ")}
        role="radiogroup"
        aria-label={label}
      >
        {options.map((option, place) => (
          <button
            key={option.value}
            type="button"
            role="radio"
            aria-checked={option.value === shown}
            tabIndex={
              option.value === shown ||
              (place === 0 && !options.some((each) => each.value === shown))
                ? 0
                : -1
            }
            onClick={() => change(option.value)}
            onKeyDown={(event) => {
              const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
              const group = event.currentTarget.parentElement;
              if (by === undefined || group === null) return;
              event.preventDefault();
              move(place, by, group);
            }}
          >
            {option.label}
          </button>
        ))}
      </div>
      <Refusal>{refusal}</Refusal>
    </>
  );
}

/** A labelled control with its error below it. */
export function Labelled({
  label,
  hint,
  error,
  children,
}: {
  label: ReactNode;
  hint?: ReactNode;
  error?: string | null;
  children: ReactNode;
}) {
  return (
    <label className="labelled">
      <span className="labelled-name">{label}</span>
      {children}
      {error ? (
        <span className="labelled-error" role="alert">
          {error}
        </span>
      ) : hint === undefined ? null : (
        <span className="labelled-hint">{hint}</span>
      )}
    </label>
  );
}

export function TextField({
  mono = false,
  unit,
  ...rest
}: Omit<ComponentPropsWithRef<"input">, "className"> & { mono?: boolean; unit?: string }) {
  return (
    <span className={mono ? "field mono" : "field"}>
      <input spellCheck={false} autoComplete="off" {...rest} />
      {unit === undefined ? null : <span className="unit">{unit}</span>}
    </span>
  );
}

/** Of a field that is no part of what the form around it saves: Enter in it does not save. */
export const withoutSubmit = (event: KeyboardEvent): void => {
  if (event.key === "Enter") event.preventDefault();
};

export function SelectField<Value extends string>({
  value,
  options,
  onChange,
  ...rest
}: Omit<ComponentPropsWithRef<"select">, "className" | "onChange"> & {
  value: Value;
  options: readonly Option<Value>[];
  onChange: (value: Value) => unknown;
}) {
  const { shown, choose, refusal } = useChosen(value);
  return (
    <>
      <span className="field select">
        <select
          {...rest}
          value={shown}
          onChange={(event) => {
            const next = event.currentTarget.value as Value;
            void choose(next, onChange(next));
          }}
        >
          {labelled(options).map((option) => (
            <option key={option.value} value={option.value}>
              {option.label}
            </option>
          ))}
        </select>
        <Icon name="down" small />
      </span>
      <Refusal>{refusal}</Refusal>
    </>
  );
}

export function CheckField({
  label,
  checked,
  onChange,
  ...rest
}: Omit<ComponentPropsWithRef<"input">, "className" | "type" | "checked" | "onChange"> & {
  label: ReactNode;
  checked: boolean | undefined;
  onChange: (event: ChangeEvent<HTMLInputElement>) => unknown;
}) {
  const { shown, choose, refusal } = useChosen(checked);
  return (
    <>
      <label className="check">
        <input
          type="checkbox"
          {...rest}
          checked={shown}
          onChange={(event) => void choose(event.currentTarget.checked, onChange(event))}
        />
        <span>{label}</span>
      </label>
      <Refusal>{refusal}</Refusal>
    </>
  );
}

/** A longer list has a field that searches it. */
const maxWithoutSearch = 12;

/** Any number of a list, by their ids. */
export function CheckList<Item extends { id: string; name: string }>({
  label,
  items,
  chosen,
  remark,
  onChange,
}: {
  label: string;
  items: readonly Item[];
  chosen: readonly string[];
  /** Beside its name. */
  remark: (item: Item) => string | null;
  onChange: (ids: string[]) => void;
}) {
  const [search, setSearch] = useState("");
  const isSearched = items.length > maxWithoutSearch;
  const wanted = isSearched ? search.trim().toLowerCase() : "";
  const shown = items.filter(({ name }) => name.toLowerCase().includes(wanted));
  return (
    <div className="check-list" role="group" aria-label={label}>
      {isSearched ? (
        <div className="check-list-search">
          <TextField
            type="search"
            aria-label={`Search ${label.toLowerCase()}`}
            placeholder={`Search ${items.length} ${label.toLowerCase()}`}
            value={search}
            onChange={(event) => setSearch(event.currentTarget.value)}
            onKeyDown={withoutSubmit}
          />
          <span className="quiet" role="status">
            {chosen.length} chosen{wanted === "" ? "" : `, ${shown.length} found`}
          </span>
        </div>
      ) : null}
      {shown.map((item) => (
        <CheckField
          key={item.id}
          label={
            <span className="check-list-item">
              <span className="isolate clip">{item.name}</span>{" "}
              <span className="quiet">{remark(item)}</span>
            </span>
          }
          checked={chosen.includes(item.id)}
          onChange={(event) =>
            onChange(
              event.currentTarget.checked
                ? [...chosen, item.id]
                : chosen.filter((each) => each !== item.id),
            )
          }
        />
      ))}
    </div>
  );
}
