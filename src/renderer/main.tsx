/** Starts the inspector in whichever host it finds itself. */

import { createRoot } from "react-dom/client";
import { portRequest } from "../contract/port-messages.ts";
import { App } from "./app.tsx";
import { readKept, writeKept } from "./kit/kept.ts";
import { setDraftsAside } from "./stores/drafts.ts";
import { useStory } from "./stores/story.ts";
import { createHttpTransport } from "./transport/http.ts";
import { createPortTransport } from "./transport/port.ts";
import { createShareTransport, embeddedShare, openDroppedShares } from "./transport/share.ts";
import { setTransport } from "./transport/transport.ts";
import "./kit/tokens.css";
import "./kit/kit.css";

/** The token comes in the address once, leaves it at once, and stays for reloads of this tab. */
function takeToken(): string {
  const given = /^#token=([\w-]+)/.exec(window.location.hash)?.[1];
  if (given !== undefined) {
    writeKept("hookyard.token", given, "sessionStorage");
    window.history.replaceState(null, "", "#/live");
  }
  return given ?? readKept("hookyard.token", "sessionStorage") ?? "";
}

/** The page is there already when the address with a new token is opened in its tab. */
window.addEventListener("hashchange", () => {
  if (window.location.hash.startsWith("#token=")) window.location.reload();
});

const root = document.getElementById("root");
if (root === null) throw new Error("the page has no root");
const connect = announcedPort();
const shared = embeddedShare();
if (shared !== null) setTransport(createShareTransport(shared));
else
  setTransport(
    connect === null
      ? createHttpTransport({ token: takeToken() })
      : createPortTransport({ connect }),
  );
const page = createRoot(root);
void useStory
  .getState()
  .resume()
  .then(() => page.render(<App />));
openDroppedShares((name, lines) => {
  // They are of things that may have the same ids. A reload restores them.
  setDraftsAside();
  setTransport(createShareTransport(Promise.resolve(lines)));
  window.location.hash = "#/live";
  // Another page altogether: whatever was read or typed belongs to the one before. A reload leads back.
  page.render(<App key={name} />);
});

/** How to get a port, or null where nobody announces one: in a browser. */
function announcedPort(): (() => Promise<MessagePort>) | null {
  const first = requestPort();
  if (first === null) return null;
  let next: Promise<MessagePort> | null = first;
  return () => {
    const port = next ?? requestPort();
    next = null;
    return port ?? Promise.reject(new Error("the port is no longer announced"));
  };
}

function requestPort(): Promise<MessagePort> | null {
  const listening = new AbortController();
  const arrival = new Promise<MessagePort>((resolve) => {
    window.addEventListener(
      "message",
      ({ source, data, ports: [port] }) => {
        if (source !== window || data !== portRequest || port === undefined) return;
        listening.abort();
        resolve(port);
      },
      { signal: listening.signal },
    );
  });
  const isAnnounced = !window.dispatchEvent(new Event(portRequest, { cancelable: true }));
  if (isAnnounced) return arrival;
  listening.abort();
  return null;
}
