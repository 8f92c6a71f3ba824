/** Light, dark, or as the system has it. Kept in this browser, and set before anything is drawn. */

import { create } from "zustand";

export const themes = ["system", "light", "dark"] as const;
type Theme = (typeof themes)[number];

const key = "hookyard.theme";

const kept = (): Theme => themes.find((theme) => theme === window.localStorage.getItem(key)) ?? "system";

function show(theme: Theme): void {
  if (theme === "system") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = theme;
}

export const useTheme = create<{ theme: Theme; choose(theme: Theme): void }>()((set) => ({
  theme: kept(),
  choose(theme) {
    window.localStorage.setItem(key, theme);
    show(theme);
    set({ theme });
  },
}));

show(kept());
