import { Choice } from "../../kit/controls.tsx";
import { themes, useTheme } from "./theme.ts";

export function AppearanceSection() {
  const { theme, choose } = useTheme();
  return (
    <div className="commit">
      <span className="labelled-name">Theme</span>
      <Choice label="Theme" value={theme} options={themes.map((each) => ({ value: each, label: each }))} onChange={choose} />
      <span className="labelled-hint">Kept on this machine, for this window’s address.</span>
    </div>
  );
}
