/**
 * The one script between the page and the main process: when the page asks for its message port, it
 * announces one, asks the main process, and hands it over. The page gets nothing else.
 */

import { ipcRenderer } from "electron";
import { portRequest } from "../contract/port-messages.ts";

window.addEventListener(portRequest, (event) => {
  event.preventDefault();
  ipcRenderer.send(portRequest);
});

ipcRenderer.on(portRequest, ({ ports }) =>
  window.postMessage(portRequest, window.location.origin, ports),
);
