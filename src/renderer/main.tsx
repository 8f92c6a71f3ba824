/** Starts the inspector in whichever host it finds itself. */

import "./kit/tokens.css";
import "./kit/kit.css";
import { createRoot } from "react-dom/client";
import { App } from "./app.tsx";
import { announcedPort } from "./transport/announced-port.ts";
import { createHttpTransport } from "./transport/http.ts";
import { createPortTransport } from "./transport/port.ts";
import { setTransport } from "./transport/transport.ts";

/** The token comes in the address once, leaves it at once, and stays for reloads of this tab. */
function takeToken(): string {
  const given = /^#token=([\w-]+)/.exec(window.location.hash)?.[1];
  if (given !== undefined) {
    window.sessionStorage.setItem("hookyard.token", given);
    window.history.replaceState(null, "", "#/live");
  }
  return window.sessionStorage.getItem("hookyard.token") ?? "";
}

const root = document.getElementById("root");
if (root === null) throw new Error("the page has no root");
const connect = announcedPort();
setTransport(connect === null ? createHttpTransport({ token: takeToken() }) : createPortTransport({ connect }));
createRoot(root).render(<App />);
