/** Gives the inspector's page its message port, and serves the control API on it. One port at a time for each page. */

import type { WebContents } from "electron";
import { ipcMain, MessageChannelMain } from "electron";
import { createPortApi } from "../api/port-api.ts";
import type { Api } from "../api/api.ts";
import { portRequest } from "../contract/port-messages.ts";
import { isTrustedSender } from "./security.ts";

export function servePorts(api: Api): void {
  const closing = new WeakMap<WebContents, () => void>();
  ipcMain.on(portRequest, ({ sender, senderFrame }) => {
    if (!isTrustedSender(senderFrame)) return;
    closing.get(sender)?.();
    const { port1: port, port2: portOfPage } = new MessageChannelMain();
    const portApi = createPortApi({ api, send: (text) => port.postMessage(text) });
    port.on("message", ({ data }) => portApi.receive(data));
    port.on("close", () => portApi.end());
    port.start();
    closing.set(sender, () => port.close());
    senderFrame.postMessage(portRequest, null, [portOfPage]);
  });
}
