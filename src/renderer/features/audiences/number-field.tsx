/** A number in a sentence. What is no number yet, or out of bounds, is said and not handed on. */

import { useEffect, useState } from "react";

export function NumberField({
  label,
  value,
  min,
  max,
  isWhole = false,
  placeholder,
  onChange,
}: {
  label: string;
  value: number | null;
  min: number;
  max: number;
  isWhole?: boolean;
  /** With one, the field may be left empty. */
  placeholder?: string;
  onChange: (value: number | null) => void;
}) {
  const shown = value === null ? "" : String(value);
  const [typed, setTyped] = useState(shown);
  useEffect(() => setTyped(shown), [shown]);
  const isFine = (text: string): boolean => {
    if (text.trim() === "") return placeholder !== undefined;
    const number = Number(text);
    return Number.isFinite(number) && number >= min && number <= max && (!isWhole || Number.isInteger(number));
  };
  return (
    <span className={isFine(typed) ? "field small amount" : "field small amount wrong"}>
      <input
        aria-label={label}
        aria-invalid={!isFine(typed) || undefined}
        title={isFine(typed) ? undefined : `${isWhole ? "A whole number" : "A number"} from ${min} to ${max}`}
        inputMode={isWhole ? "numeric" : "decimal"}
        placeholder={placeholder}
        value={typed}
        onChange={(event) => {
          const text = event.currentTarget.value;
          setTyped(text);
          if (isFine(text)) onChange(text.trim() === "" ? null : Number(text));
        }}
        onBlur={() => setTyped(shown)}
      />
    </span>
  );
}
