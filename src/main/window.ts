/**
 * The one window, where it was the last time, and the application menu: what the platform expects,
 * by roles.
 */

import {
  BrowserWindow,
  nativeTheme,
  screen,
  type MenuItemConstructorOptions,
  Menu,
} from "electron";
import { isDevelopment, pageUrl } from "./app-protocol.ts";
import { boundsOn, readWindowState, smallestSize, writeWindowState } from "./window-state.ts";

type MainWindow = {
  /** Opens it, or brings it to the front. */
  show(): void;
  /** Saves its place, and closes it. */
  close(): void;
};

export function createMainWindow({
  preload,
  stateFile,
  report,
}: {
  /** The built preload. */
  preload: string;
  stateFile: string;
  report: (error: unknown) => void;
}): MainWindow {
  let current: BrowserWindow | null = null;

  function keepState(window: BrowserWindow): void {
    try {
      writeWindowState(stateFile, {
        bounds: window.getNormalBounds(),
        isMaximized: window.isMaximized(),
      });
    } catch (error) {
      report(error);
    }
  }

  function open(): BrowserWindow {
    const state = readWindowState(stateFile);
    const screens = [screen.getPrimaryDisplay(), ...screen.getAllDisplays()].map(
      ({ workArea }) => workArea,
    );
    const window = new BrowserWindow({
      ...boundsOn(screens, state.bounds),
      minWidth: smallestSize.width,
      minHeight: smallestSize.height,
      title: "Hookyard",
      show: false,
      // The page's own background (--bg), so that nothing flashes before it is drawn.
      backgroundColor: nativeTheme.shouldUseDarkColors ? "#141512" : "#fcfcfa",
      webPreferences: {
        preload,
        contextIsolation: true,
        sandbox: true,
        nodeIntegration: false,
        webviewTag: false,
        spellcheck: false,
        devTools: isDevelopment,
      },
    });
    if (state.isMaximized) window.maximize();
    window.once("ready-to-show", () => window.show());
    window.on("close", () => keepState(window));
    window.on("closed", () => {
      current = null;
    });
    window.loadURL(pageUrl).catch(report);
    return window;
  }

  return {
    show() {
      if (current === null) {
        current = open();
        return;
      }
      if (current.isMinimized()) current.restore();
      current.show();
      current.focus();
    },
    close() {
      if (current === null) return;
      keepState(current);
      current.destroy();
    },
  };
}

/**
 * Only the dev loop has the developer tools: what a page shows comes from outside, and nobody
 * should be talked into pasting code.
 */
export function setMenu(platform: NodeJS.Platform): void {
  const isMac = platform === "darwin";
  const template: MenuItemConstructorOptions[] = [
    ...(isMac ? [{ role: "appMenu" as const }] : []),
    { label: "&File", submenu: [isMac ? { role: "close" } : { role: "quit" }] },
    { role: "editMenu" },
    {
      label: "&View",
      submenu: [
        { role: "reload" },
        ...(isDevelopment ? [{ role: "toggleDevTools" as const }] : []),
        { type: "separator" },
        { role: "resetZoom" },
        { role: "zoomIn" },
        { role: "zoomOut" },
        { type: "separator" },
        { role: "togglefullscreen" },
      ],
    },
    { role: "windowMenu" },
  ];
  Menu.setApplicationMenu(Menu.buildFromTemplate(template));
}
