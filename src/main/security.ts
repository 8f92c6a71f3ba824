/**
 * What a page may not do, and who may talk to the main process. Everything that is not needed is
 * denied. Links that lead outside open after the user has seen the address; a page cannot open one
 * by itself.
 */

import { type Session, type WebFrameMain, app, dialog, shell } from "electron";
import { isPage } from "./app-protocol.ts";

/** Before the app is ready. Applies to every page that is ever created. */
export function confinePages({ report }: { report: (error: unknown) => void }): void {
  app.enableSandbox();
  app.on("web-contents-created", (_event, contents) => {
    contents.on("will-frame-navigate", (event) => {
      // A reload is a navigation to where the page is.
      if (!event.isMainFrame || !isPage(event.url)) event.preventDefault();
    });
    contents.on("will-redirect", (event) => event.preventDefault());
    contents.on("will-attach-webview", (event) => event.preventDefault());
    contents.setWindowOpenHandler(({ url }) => {
      openLink(url).catch(report);
      return { action: "deny" };
    });
  });
}

/** Copying is the one thing that the inspector asks a permission for. */
export function denyPermissions(session: Session): void {
  const isAllowed = (permission: string, url: string): boolean =>
    permission === "clipboard-sanitized-write" && isPage(url);
  session.setPermissionRequestHandler((_contents, permission, answer, { requestingUrl }) =>
    answer(isAllowed(permission, requestingUrl)),
  );
  session.setPermissionCheckHandler((_contents, permission, origin) =>
    isAllowed(permission, origin),
  );
}

/** Messages are accepted from the inspector's own page, and not from frames inside it. */
export function isTrustedSender(frame: WebFrameMain | null): frame is WebFrameMain {
  return frame !== null && frame.parent === null && isPage(frame.url);
}

/**
 * Long enough for any link that a person follows. A longer one is opened whole and shown in part.
 */
const shownLength = 500;

const trustedHosts = new Set<string>();
let isAsking = false;

/** Ignored for anything but http and https, and while another question is on the screen. */
async function openLink(link: string): Promise<void> {
  const url = URL.parse(link);
  if (url === null || (url.protocol !== "http:" && url.protocol !== "https:") || isAsking) return;
  if (!trustedHosts.has(url.host) && !(await isWanted(url))) return;
  await shell.openExternal(url.href);
}

async function isWanted(url: URL): Promise<boolean> {
  isAsking = true;
  try {
    const { response, checkboxChecked } = await dialog.showMessageBox({
      type: "question",
      title: "Hookyard",
      message: `Open ${url.host} in your browser?`,
      detail: url.href.length > shownLength ? `${url.href.slice(0, shownLength)}…` : url.href,
      buttons: ["Open", "Cancel"],
      checkboxLabel: `Do not ask again for ${url.host} until Hookyard is closed`,
      defaultId: 1,
      cancelId: 1,
      noLink: true,
    });
    if (response === 0 && checkboxChecked) trustedHosts.add(url.host);
    return response === 0;
  } finally {
    isAsking = false;
  }
}
