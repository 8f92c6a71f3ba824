/** Buttons, choices, fields: the parts that take a press or a key. */

import type { ComponentPropsWithRef, ReactNode } from "react";
import { focusAdded } from "./focus.ts";
import { Icon, type IconName } from "./icon.tsx";

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

/** A choice of few. Arrows move, as in every radio group. */
export function Choice<Value extends string>({
  label,
  value,
  options,
  onChange,
  small = false,
  name,
}: {
  label: string;
  value: Value;
  options: readonly { value: Value; label: ReactNode }[];
  onChange: (value: Value) => void;
  small?: boolean;
  /** An additional class, for the page's layout. */
  name?: string;
}) {
  const move = (from: number, by: number, group: HTMLElement): void => {
    const at = (from + by + options.length) % options.length;
    const next = options[at];
    if (next === undefined) return;
    onChange(next.value);
    (group.children[at] as HTMLElement).focus();
  };
  return (
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
          aria-checked={option.value === value}
          tabIndex={
            option.value === value || (place === 0 && !options.some((each) => each.value === value))
              ? 0
              : -1
          }
          onClick={() => onChange(option.value)}
          onKeyDown={(event) => {
            const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
            const group = event.currentTarget.parentElement;
            if (by === undefined || group === null) return;
            event.preventDefault();
            event.stopPropagation();
            move(place, by, group);
          }}
        >
          {option.label}
        </button>
      ))}
    </div>
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

export function SelectField<Value extends string>({
  options,
  onChange,
  ...rest
}: Omit<ComponentPropsWithRef<"select">, "className" | "onChange"> & {
  value: Value;
  options: readonly { value: Value; label: string }[];
  onChange: (value: Value) => void;
}) {
  return (
    <span className="field select">
      <select {...rest} onChange={(event) => onChange(event.currentTarget.value as Value)}>
        {options.map((option) => (
          <option key={option.value} value={option.value}>
            {option.label}
          </option>
        ))}
      </select>
      <Icon name="down" small />
    </span>
  );
}

export function CheckField({
  label,
  ...rest
}: Omit<ComponentPropsWithRef<"input">, "className" | "type"> & { label: ReactNode }) {
  return (
    <label className="check">
      <input type="checkbox" {...rest} />
      <span>{label}</span>
    </label>
  );
}
