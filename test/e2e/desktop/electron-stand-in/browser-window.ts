/** `BrowserWindow` and its `webContents`, with the page in the test. */

import { EventEmitter } from "node:events";
import { called, say, type Told } from "./connection.ts";
import type { MessagePortMain } from "./message-channel.ts";
import type { Frame, Rectangle } from "./wire.ts";

type Options = Partial<Rectangle> & { webPreferences: { preload: string } };

/** `contents` when a page is made, `all-closed` when the last window has gone. */
export const windowEvents = new EventEmitter();

const windows = new Set<BrowserWindow>();
let lastId = 0;

class WebContents extends EventEmitter {
  readonly #window: number;
  windowOpenHandler: (details: { url: string }) => { action: "allow" | "deny" } = () => ({
    action: "allow",
  });

  constructor(window: number) {
    super();
    this.#window = window;
  }
  setWindowOpenHandler(handler: WebContents["windowOpenHandler"]): void {
    this.windowOpenHandler = handler;
  }
  frame({ url, isMainFrame }: Frame) {
    return {
      url,
      parent: isMainFrame ? null : {},
      postMessage: (channel: string, _message: unknown, ports: MessagePortMain[]): void =>
        say({
          say: "post",
          window: this.#window,
          channel,
          ports: ports.map((port) => port.transfer()),
        }),
    };
  }
}

export class BrowserWindow extends EventEmitter {
  readonly id: number;
  readonly webContents: WebContents;
  readonly #preload: string;
  #bounds: Rectangle;
  #isMaximized = false;

  constructor(options: Options) {
    super();
    lastId += 1;
    this.id = lastId;
    this.webContents = new WebContents(this.id);
    this.#preload = options.webPreferences.preload;
    this.#bounds = {
      x: options.x ?? 0,
      y: options.y ?? 0,
      width: options.width ?? 800,
      height: options.height ?? 600,
    };
    windows.add(this);
    called("new BrowserWindow", options);
    windowEvents.emit("contents", this.webContents);
  }
  async loadURL(url: string): Promise<void> {
    called("window.loadURL", url);
    say({ say: "load", window: this.id, url, preload: this.#preload });
  }
  getNormalBounds = (): Rectangle => this.#bounds;
  isMaximized = (): boolean => this.#isMaximized;
  isMinimized = (): boolean => false;
  restore = (): void => called("window.restore");
  show = (): void => called("window.show");
  focus = (): void => called("window.focus");
  maximize(): void {
    this.#isMaximized = true;
    called("window.maximize");
  }
  move(bounds: Rectangle, isMaximized: boolean): void {
    this.#bounds = bounds;
    this.#isMaximized = isMaximized;
  }
  close(): void {
    this.emit("close", {});
    this.destroy();
  }
  destroy(): void {
    if (!windows.delete(this)) return;
    say({ say: "destroyed", window: this.id });
    this.emit("closed");
    if (windows.size === 0) windowEvents.emit("all-closed");
  }
}

export type StandInWindow = BrowserWindow;

export const browserWindows = (): BrowserWindow[] => [...windows];

export function tellWindow(message: Told): void {
  if (!("window" in message)) return;
  const window = browserWindows().find(({ id }) => id === message.window);
  if (message.tell === "ready-to-show") window?.emit("ready-to-show");
  else if (message.tell === "moved") window?.move(message.bounds, message.isMaximized);
  else if (message.tell === "close") window?.close();
}
