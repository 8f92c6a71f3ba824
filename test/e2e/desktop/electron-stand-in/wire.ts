/**
 * What the stand-in, inside the process of the desktop host, and the test, which has the real page,
 * say to each other.
 */

export type Rectangle = { x: number; y: number; width: number; height: number };

export type Frame = { url: string; isMainFrame: boolean };

export type PageAnswer = { status: number; headers: Record<string, string>; body: Uint8Array };

/** What the test asks; each is answered with its number. */
export type Question =
  | { ask: "request"; url: string; method: string }
  | { ask: "navigate"; window: number; url: string; isMainFrame: boolean }
  | { ask: "open-window"; window: number; url: string }
  | { ask: "permission"; permission: string; url: string };

export type ToStandIn =
  | { id: number; question: Question }
  /** A frame's preload sent a message. */
  | { tell: "ipc"; window: number; channel: string; frame: Frame }
  | { tell: "port"; port: number; data: unknown }
  | { tell: "port-closed"; port: number }
  | { tell: "ready-to-show"; window: number }
  | { tell: "moved"; window: number; bounds: Rectangle; isMaximized: boolean }
  /** The user closes the window. */
  | { tell: "close"; window: number }
  /** As macOS does after a double click. */
  | { tell: "open-file"; file: string }
  | { tell: "dialog-answer"; response: number; checkboxChecked?: boolean };

export type FromStandIn =
  | { id: number; answer: unknown }
  /** A call of something that is only written down. */
  | { say: "called"; name: string; values: unknown[] }
  | { say: "load"; window: number; url: string; preload: string }
  | { say: "destroyed"; window: number }
  | { say: "post"; window: number; channel: string; ports: number[] }
  | { say: "port"; port: number; data: unknown }
  | { say: "port-closed"; port: number };
