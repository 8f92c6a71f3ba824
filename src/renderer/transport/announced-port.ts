/** Asks the preload for a message port to the host. */

import { portRequest } from "../../contract/port-messages.ts";

/** How to get a port, or null where nobody announces one: in a browser. */
export function announcedPort(): (() => Promise<MessagePort>) | null {
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
