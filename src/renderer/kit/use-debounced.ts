import { useEffect, useState } from "react";

const debounceMs = 150;

/**
 * A value once it has not changed for a moment, so that not every key that is typed asks the API.
 */
export function useDebounced<Value>(value: Value): { value: Value; isOld: boolean } {
  const key = JSON.stringify(value);
  const [debounced, setDebounced] = useState({ key, value });
  useEffect(() => {
    const timer = window.setTimeout(() => setDebounced({ key, value }), debounceMs);
    return () => window.clearTimeout(timer);
    // oxlint-disable-next-line react-hooks/exhaustive-deps -- the key stands for the value
  }, [key]);
  return { value: debounced.value, isOld: debounced.key !== key };
}
