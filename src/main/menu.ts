/** The application menu: what the platform expects to find, by roles. Everything of Hookyard's own is in the page. */

import type { MenuItemConstructorOptions } from "electron";
import { Menu } from "electron";

/** Only the dev loop has the developer tools: what a page shows comes from outside, and nobody should be talked into pasting code. */
export function setMenu({ platform, isDevelopment }: { platform: NodeJS.Platform; isDevelopment: boolean }): void {
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
