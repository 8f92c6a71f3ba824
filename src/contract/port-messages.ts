/**
 * What goes over a message port between the inspector and the desktop host. Each message is one
 * JSON text, so that a call means the same here as over HTTP: a member that is undefined is a
 * member that is not there, on both.
 */

import type { ChangeAnswer } from "./events.ts";

export type MessageToHost =
  /** `beside` is a pipeline beside the user's own, such as that of an open story. */
  | { id: number; name: string; input: unknown; beside?: string }
  /** `after` is the sequence number that was seen last; null starts with what comes next. */
  | { watch: number; after: number | null; beside?: string }
  | { unwatch: number };

export type MessageToPage =
  | { id: number; status: number; body: unknown }
  /**
   * `sequence` is where to resume. Changes are null when some were missed and everything must be
   * read again.
   */
  | { watch: number; sequence: number; changes: ChangeAnswer[] | null };

/**
 * How a page gets its port. It dispatches a cancelable event of this name; the preload cancels it,
 * which announces a port, and posts the port to the window as a message of the same name.
 */
export const portRequest = "hookyard.port";
