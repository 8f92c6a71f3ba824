import { homedir } from "node:os";
import { join } from "node:path";

/** Where the data lives when `--data` does not say: the platform's place for it. */
export function defaultDataDirectory(
  platform: NodeJS.Platform = process.platform,
  environment: NodeJS.ProcessEnv = process.env,
  home: string = homedir(),
): string {
  if (platform === "darwin") return join(home, "Library", "Application Support", "Hookyard");
  if (platform === "win32") return join(environment["APPDATA"] || join(home, "AppData", "Roaming"), "Hookyard");
  const base = environment["XDG_DATA_HOME"];
  // The XDG specification says to ignore a relative path.
  return join(base?.startsWith("/") ? base : join(home, ".local", "share"), "hookyard");
}
