import type { Pipeline } from "../../engine/pipeline.ts";
import type { HandlersOf } from "../handler.ts";

export function settingsHandlers({ configuration }: Pipeline): HandlersOf<"settings"> {
  return {
    "settings.get": () => configuration.settings(),
    "settings.update": (changes) => configuration.updateSettings(changes),
  };
}
