/** What `hookyard/client` is. An older Node would fail later, in the first flush. */

export { Analytics } from "./analytics.ts";
export type { Alias, CallType, Group, Identify, Page, Screen, Track } from "./calls.ts";
export { AnalyticsError } from "./errors.ts";
export type { ErrorCode } from "./errors.ts";
export type { ClientEvent, ClientState, FlushReason } from "./events.ts";
export { New, NewWithConfig } from "./go-spelling.ts";
export type {
  GoAlias,
  GoClient,
  GoClient3,
  GoConfig,
  GoGroup,
  GoIdentify,
  GoMessage,
  GoPage,
  GoTrack,
} from "./go-spelling.ts";
export { logLine } from "./log.ts";
export type { AnalyticsOptions, FlushOptions, MessageCallback } from "./options.ts";
export { NotSentError } from "./outbox.ts";
export type { UnsentMessage } from "./outbox.ts";
export type { Time, Timer } from "./time.ts";
export type { WireMode } from "./wire.ts";

if (Number.parseInt(process.versions.node, 10) < 24)
  throw new Error(`hookyard/client needs Node 24 or newer; this is ${process.versions.node}.`);
