/** A text field that grows with its text and suggests names that were seen. What is being typed is kept as it was typed. */

import { useEffect, useId, useState } from "react";

const mostSuggestions = 100;

export function SuggestedField({
  label,
  value,
  suggestions,
  unit,
  onChange,
}: {
  label: string;
  value: string;
  suggestions: readonly string[];
  unit?: string;
  onChange: (value: string) => void;
}) {
  const id = useId();
  const [typed, setTyped] = useState(value);
  // What is typed may mean the same as the value and be spelled otherwise: `50.` on the way to `50.5`.
  const [said, setSaid] = useState(value);
  useEffect(() => {
    if (value === said) return;
    setSaid(value);
    setTyped(value);
  }, [value, said]);
  return (
    <span className="field small suggested">
      <input
        aria-label={label}
        placeholder={label.toLowerCase()}
        spellCheck={false}
        autoComplete="off"
        list={suggestions.length === 0 ? undefined : id}
        value={typed}
        onChange={(event) => {
          const text = event.currentTarget.value;
          setTyped(text);
          onChange(text);
        }}
        onBlur={() => setTyped(value)}
      />
      {unit === undefined ? null : <span className="unit">{unit}</span>}
      {suggestions.length === 0 ? null : (
        <datalist id={id}>
          {suggestions.slice(0, mostSuggestions).map((each) => (
            <option key={each} value={each} />
          ))}
        </datalist>
      )}
    </span>
  );
}
