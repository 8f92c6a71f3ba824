/** Where the window was, kept as a small file beside the data. */

import { readFileSync, writeFileSync } from "node:fs";

type Rectangle = { x: number; y: number; width: number; height: number };
type WindowState = { bounds: Rectangle | null; isMaximized: boolean };

/** Below it the details beside the list have no room. */
export const smallestSize = { width: 1100, height: 700 };
const usualSize = { width: 1440, height: 900 };

/** So much of the title bar must be in reach of the mouse for a window to be moved. */
const reachable = { width: 120, height: 40 };

/** A file that is missing or makes no sense is as good as none. */
export function readWindowState(file: string): WindowState {
  try {
    const { bounds, isMaximized } = JSON.parse(readFileSync(file, "utf8")) as {
      bounds?: unknown;
      isMaximized?: unknown;
    };
    return { bounds: rectangleOf(bounds), isMaximized: isMaximized === true };
  } catch {
    return { bounds: null, isMaximized: false };
  }
}

export function writeWindowState(file: string, state: WindowState): void {
  writeFileSync(file, JSON.stringify(state));
}

/**
 * The bounds where they can still be reached; else, when a screen is gone, only a size that fits
 * the first one.
 */
export function boundsOn(
  screens: readonly Rectangle[],
  bounds: Rectangle | null,
): Partial<Rectangle> & Pick<Rectangle, "width" | "height"> {
  const first = screens[0] ?? { x: 0, y: 0, ...usualSize };
  const width = Math.max(
    smallestSize.width,
    Math.min(bounds?.width ?? usualSize.width, first.width),
  );
  const height = Math.max(
    smallestSize.height,
    Math.min(bounds?.height ?? usualSize.height, first.height),
  );
  if (bounds === null || !screens.some((screen) => isReachable(bounds, screen)))
    return { width, height };
  return {
    x: bounds.x,
    y: bounds.y,
    width: Math.max(smallestSize.width, bounds.width),
    height: Math.max(smallestSize.height, bounds.height),
  };
}

function isReachable(bounds: Rectangle, screen: Rectangle): boolean {
  const across =
    Math.min(bounds.x + bounds.width, screen.x + screen.width) - Math.max(bounds.x, screen.x);
  const titleBarIsOn =
    bounds.y >= screen.y && bounds.y + reachable.height <= screen.y + screen.height;
  return across >= reachable.width && titleBarIsOn;
}

function rectangleOf(value: unknown): Rectangle | null {
  if (typeof value !== "object" || value === null) return null;
  const { x, y, width, height } = value as Record<string, unknown>;
  if (!isWhole(x) || !isWhole(y) || !isWhole(width) || !isWhole(height)) return null;
  return { x, y, width, height };
}

function isWhole(value: unknown): value is number {
  return Number.isSafeInteger(value);
}
