/** A value once it has not changed for a moment, so that not every key that is typed asks the API. */

import { useEffect, useState } from "react";

const restMs = 150;

export function useRested<Value>(value: Value): { value: Value; isOld: boolean } {
  const key = JSON.stringify(value);
  const [rested, setRested] = useState({ key, value });
  useEffect(() => {
    const timer = window.setTimeout(() => setRested({ key, value }), restMs);
    return () => window.clearTimeout(timer);
    // oxlint-disable-next-line react-hooks/exhaustive-deps -- the key stands for the value
  }, [key]);
  return { value: rested.value, isOld: rested.key !== key };
}
