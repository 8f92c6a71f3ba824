/**
 * Stands in for the module `electron` in the desktop host's process, where there is no runtime: as
 * much of it as the host uses, with the same order of events and the same refusals. What a page
 * would do comes from the test, which has a real one.
 */

import { EventEmitter } from "node:events";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { browserWindows, tellWindow, windowEvents, type StandInWindow } from "./browser-window.ts";
import { called, onTold, respondTo } from "./connection.ts";

export { BrowserWindow } from "./browser-window.ts";
export { MessageChannelMain } from "./message-channel.ts";
export const ipcMain = new EventEmitter();

type Handler = (request: Request) => Response | Promise<Response>;
type DialogAnswer = { response: number; checkboxChecked: boolean };
type Permissions = {
  request: (
    contents: null,
    permission: string,
    answer: (isAllowed: boolean) => void,
    details: { requestingUrl: string },
  ) => void;
  check: (contents: null, permission: string, origin: string) => boolean;
};

const appData = process.env["STAND_IN_APP_DATA"] ?? "";
const handlers = new Map<string, Handler>();
const permissions: Partial<Permissions> = {};
const dialogAnswers: ((answer: DialogAnswer) => void)[] = [];
let isReady = false;
process.execPath = process.env["STAND_IN_EXEC_PATH"] ?? process.execPath;

const beforeReady = (what: string): void => {
  if (isReady) throw new Error(`${what} must be called before the app is ready`);
};

class StandInApp extends EventEmitter {
  #name = "Electron";
  #paths = new Map<string, string>();
  #lockFile: string | null = null;
  readonly isPackaged = process.env["STAND_IN_IS_PACKAGED"] === "yes";

  setName(name: string): void {
    this.#name = name;
  }
  getPath(name: string): string {
    const path = this.#paths.get(name) ?? join(appData, this.#name);
    mkdirSync(path, { recursive: true });
    return path;
  }
  setPath(name: string, path: string): void {
    if (!existsSync(path)) throw new Error(`Failed to set '${name}' path`);
    this.#paths.set(name, path);
  }
  enableSandbox(): void {
    beforeReady("enableSandbox");
    called("app.enableSandbox");
  }
  requestSingleInstanceLock(): boolean {
    const file = join(this.getPath("userData"), "SingletonLock");
    if (existsSync(file)) {
      process.kill(Number(readFileSync(file, "utf8")), "SIGUSR2");
      return false;
    }
    writeFileSync(file, String(process.pid));
    this.#lockFile = file;
    process.on("SIGUSR2", () => this.emit("second-instance", {}, [], ""));
    return true;
  }
  isReady = (): boolean => isReady;
  openFile(file: string): void {
    isPrevented((event) => this.emit("open-file", event, file));
  }
  async whenReady(): Promise<void> {
    // The module of the host has been loaded by then, as with Electron.
    await new Promise((resolve) => setImmediate(resolve));
    if (process.env["STAND_IN_OPENS"] !== undefined) this.openFile(process.env["STAND_IN_OPENS"]);
    isReady = true;
    this.emit("ready");
  }
  quit(): void {
    if (isPrevented((event) => this.emit("before-quit", event))) return;
    for (const window of browserWindows()) window.close();
    this.exit(0);
  }
  exit(code = 0): void {
    if (this.#lockFile !== null) rmSync(this.#lockFile, { force: true });
    called("app.exit", code);
    this.emit("quit", {}, code);
    process.exit(code);
  }
}

export const app = new StandInApp();
windowEvents.on("contents", (contents: unknown) => app.emit("web-contents-created", {}, contents));
windowEvents.on("all-closed", () => app.emit("window-all-closed"));

export const protocol = {
  registerSchemesAsPrivileged(schemes: unknown): void {
    beforeReady("registerSchemesAsPrivileged");
    called("protocol.registerSchemesAsPrivileged", schemes);
  },
  handle(scheme: string, handler: Handler): void {
    if (!isReady) throw new Error("protocol.handle needs a ready app");
    handlers.set(scheme, handler);
  },
};

export const session = {
  defaultSession: {
    setPermissionRequestHandler: (handler: Permissions["request"]): void =>
      void (permissions.request = handler),
    setPermissionCheckHandler: (handler: Permissions["check"]): void =>
      void (permissions.check = handler),
  },
};

export const dialog = {
  showMessageBox(options: unknown): Promise<DialogAnswer> {
    called("dialog.showMessageBox", options);
    return new Promise((resolve) => dialogAnswers.push(resolve));
  },
  showErrorBox: (title: string, text: string): void => called("dialog.showErrorBox", title, text),
};

export const shell = {
  async openExternal(url: string): Promise<void> {
    called("shell.openExternal", url);
  },
};

export const Menu = {
  buildFromTemplate: (template: unknown): unknown => template,
  setApplicationMenu: (menu: unknown): void => called("Menu.setApplicationMenu", menu),
};

export const nativeTheme = { shouldUseDarkColors: false };

const display = { workArea: { x: 0, y: 0, width: 1920, height: 1080 } };
export const screen = { getPrimaryDisplay: () => display, getAllDisplays: () => [display] };

function isPrevented(emit: (event: { preventDefault(): void }) => void): boolean {
  let prevented = false;
  emit({ preventDefault: () => void (prevented = true) });
  return prevented;
}

function windowOf(id: number): StandInWindow {
  const window = browserWindows().find((each) => each.id === id);
  if (window === undefined) throw new Error(`there is no window ${id}`);
  return window;
}

respondTo(async (question) => {
  switch (question.ask) {
    case "request": {
      const handler = handlers.get(new URL(question.url).protocol.slice(0, -1));
      if (handler === undefined) throw new Error(`nobody handles ${question.url}`);
      const response = await handler(new Request(question.url, { method: question.method }));
      return {
        status: response.status,
        headers: Object.fromEntries(response.headers),
        body: new Uint8Array(await response.arrayBuffer()),
      };
    }
    case "navigate": {
      const { url, isMainFrame } = question;
      return !isPrevented((event) =>
        windowOf(question.window).webContents.emit("will-frame-navigate", {
          ...event,
          url,
          isMainFrame,
        }),
      );
    }
    case "open-window":
      return (
        windowOf(question.window).webContents.windowOpenHandler({ url: question.url }).action ===
        "allow"
      );
    case "permission": {
      const { permission, url } = question;
      const requested = await new Promise<boolean>((resolve) =>
        permissions.request?.(null, permission, resolve, { requestingUrl: url }),
      );
      return { requested, checked: permissions.check?.(null, permission, url) };
    }
  }
});

onTold((message) => {
  if (message.tell === "dialog-answer")
    dialogAnswers.shift()?.({ checkboxChecked: false, ...message });
  else if (message.tell === "ipc") {
    const { webContents } = windowOf(message.window);
    ipcMain.emit(message.channel, {
      sender: webContents,
      senderFrame: webContents.frame(message.frame),
    });
  } else if (message.tell === "open-file") app.openFile(message.file);
  else tellWindow(message);
});
