/**
 * Which host `npm start` opens: the desktop where Electron can run, else the headless one, with one
 * sentence that says why.
 */

export type Machine = {
  hasDisplay: boolean;
  isRoot: boolean;
  /**
   * Electron's runtime: `missing` may still be downloaded, `unavailable` could not be, `broken` did
   * not start.
   */
  runtime: "there" | "missing" | "unavailable" | "broken";
};

type Choice =
  | { host: "desktop" }
  | { host: "desktop-after-download" }
  | { host: "headless"; sentence: string; opensBrowser: boolean };

export function chooseHost({ hasDisplay, isRoot, runtime }: Machine): Choice {
  if (!hasDisplay) {
    const sentence =
      "There is no display, so open the inspector's address below in a browser yourself.";
    return { host: "headless", sentence, opensBrowser: false };
  }
  if (isRoot) return inBrowser("Electron refuses to run as root");
  switch (runtime) {
    case "there":
      return { host: "desktop" };
    case "missing":
      return { host: "desktop-after-download" };
    case "unavailable":
      return inBrowser("Electron's runtime is missing and could not be downloaded");
    case "broken":
      return inBrowser("Electron's runtime does not start on this machine");
  }
}

function inBrowser(reason: string): Choice {
  return {
    host: "headless",
    sentence: `${reason}, so Hookyard opens its inspector in your browser.`,
    opensBrowser: true,
  };
}

export function hasDisplay(platform: NodeJS.Platform, environment: NodeJS.ProcessEnv): boolean {
  return platform !== "linux" || Boolean(environment["DISPLAY"] || environment["WAYLAND_DISPLAY"]);
}
