/** What a page may not do, and who may talk to the main process. Everything that is not needed is denied. */

import type { Session, WebFrameMain } from "electron";
import { app } from "electron";
import { isPage } from "./app-protocol.ts";
import { openLink } from "./open-link.ts";

/** Before the app is ready. Holds for every page that is ever made, whoever makes it. */
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
  const isAllowed = (permission: string, url: string): boolean => permission === "clipboard-sanitized-write" && isPage(url);
  session.setPermissionRequestHandler((_contents, permission, answer, { requestingUrl }) => answer(isAllowed(permission, requestingUrl)));
  session.setPermissionCheckHandler((_contents, permission, origin) => isAllowed(permission, origin));
}

/** Messages are taken from the inspector's own page, and not from frames inside it. */
export function isTrustedSender(frame: WebFrameMain | null): frame is WebFrameMain {
  return frame !== null && frame.parent === null && isPage(frame.url);
}
