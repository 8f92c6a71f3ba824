/** Log or linear, for every timeline at once. */

import { Choice } from "../../kit/controls.tsx";
import { useScale } from "./kept-scale.ts";

export function ScaleChoice({ small = false }: { small?: boolean }) {
  const { scale, setScale } = useScale();
  return (
    <Choice
      small={small}
      label="Scale"
      value={scale}
      options={[
        { value: "log", label: "log" },
        { value: "linear", label: "linear" },
      ]}
      onChange={setScale}
    />
  );
}
