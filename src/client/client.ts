/** What `hookyard/client` is. */

export { Analytics } from "./analytics.ts";
export type { Alias, CallType, Group, Identify, Page, Screen, Track } from "./calls.ts";
export { AnalyticsError } from "./errors.ts";
export type { ErrorCode } from "./errors.ts";
export type { ClientEvent, ClientState, FlushReason } from "./events.ts";
export { New } from "./go-spelling.ts";
export type { GoAlias, GoClient, GoGroup, GoIdentify, GoPage, GoTrack } from "./go-spelling.ts";
export { logLine } from "./log.ts";
export type { AnalyticsOptions, FlushOptions } from "./options.ts";
export { NotSentError } from "./outbox.ts";
export type { UnsentMessage } from "./outbox.ts";
export type { Time, Timer } from "./time.ts";
export type { WireMode } from "./wire.ts";
