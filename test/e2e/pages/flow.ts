/** Flow: the map or the loom, the list of its lines, and the message beside it. */

import type { Page } from "playwright-core";

export function flowPage(page: Page) {
  const view = page.getByRole("region", { name: "Flow", exact: true });
  const map = view.getByRole("group", { name: "Map of the flow" });
  const table = view.getByRole("table", { name: "Lines of the flow" });
  const panel = page.getByRole("region", { name: "Message on the map" });
  return {
    view,
    map,
    as: (shape: "map" | "list") => view.getByRole("radio", { name: shape }),
    line: (from: string, to: string) =>
      map.getByRole("link", { name: new RegExp(`^${from} to ${to}: `) }),
    node: (name: string) => map.getByRole("link", { name: new RegExp(`^${name}: `) }),
    /** On a loom. */
    row: (name: string) => map.getByRole("button", { name: new RegExp(`^${name}: `) }),
    card: (name: string) => view.getByRole("region", { name, exact: true }),
    failing: view.getByRole("button", { name: /\d+ failing/ }),
    hanging: view.getByRole("button", { name: /\d+ hangs?/ }),
    rows: table.locator("tbody tr"),
    listRow: (from: string, to: string) =>
      table.getByRole("row").filter({ hasText: from }).filter({ hasText: to }),
    panel,
    hold: panel.getByRole("button", { name: /Hold|Release/ }),
    sendSample: view.getByRole("button", { name: "Send a sample" }),
    /** Whether anything is drawn on the canvas; null without a canvas. */
    isDrawnOn: (): Promise<boolean | null> =>
      page.evaluate<boolean | null>(`(() => {
        const canvas = document.querySelector(".flow-canvas");
        if (canvas === null) return null;
        const blank = document.createElement("canvas");
        blank.width = canvas.width;
        blank.height = canvas.height;
        return canvas.toDataURL() !== blank.toDataURL();
      })()`),
    /** The canvas as it is, for comparing two moments. */
    picture: (): Promise<string> =>
      page.evaluate<string>(`document.querySelector(".flow-canvas").toDataURL()`),
  };
}
