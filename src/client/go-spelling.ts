/**
 * The client in the spelling of the Go library, so that its tables can be followed to the letter:
 * `New(writeKey)`, then `client.Track({ UserId: "u1", Event: "Bought" })`; or, as in version 3,
 * `NewWithConfig(writeKey, config)`, then `client.Enqueue({ Type: "track", … })`. Only translates
 * names.
 */

import { Analytics } from "./analytics.ts";
import type { Alias, CallType, Common, Group, Identify, Members, Page, Track } from "./calls.ts";
import { AnalyticsError } from "./errors.ts";
import { refuseUnknownOptions, type AnalyticsOptions } from "./options.ts";
import type { NotSentError, UnsentMessage } from "./outbox.ts";

type GoCommon = {
  Timestamp?: Common["timestamp"];
  Context?: Members;
  Integrations?: Members;
  MessageId?: string;
};
type GoIdentity =
  | { UserId: string; AnonymousId?: string }
  | { UserId?: string; AnonymousId: string };

export type GoIdentify = GoCommon & GoIdentity & { Traits?: Members };
export type GoTrack = GoCommon & GoIdentity & { Event: string; Properties?: Members };
/** Its `Traits` are the properties of the page. */
export type GoPage = GoCommon & GoIdentity & { Category?: string; Name?: string; Traits?: Members };
export type GoGroup = GoCommon & GoIdentity & { GroupId: string; Traits?: Members };
export type GoAlias = GoCommon & { UserId: string; PreviousId: string };

export function New(writeKey: string, options: AnalyticsOptions = {}): GoClient {
  return new GoClient(new Analytics(writeKey, options));
}

export class GoClient {
  readonly #analytics: Analytics;

  constructor(analytics: Analytics) {
    this.#analytics = analytics;
    // A misspelled setting is an error, not a new property.
    Object.preventExtensions(this);
  }

  Identify(call: GoIdentify): void {
    this.#analytics.identify(translated<Identify>(call));
  }

  Track(call: GoTrack): void {
    this.#analytics.track(translated<Track>(call));
  }

  Page(call: GoPage): void {
    this.#analytics.page(translated<Page>(call, { Traits: "properties" }));
  }

  Group(call: GoGroup): void {
    this.#analytics.group(translated<Group>(call));
  }

  Alias(call: GoAlias): void {
    this.#analytics.alias(translated<Alias>(call));
  }

  Flush(): Promise<void> {
    return this.#analytics.flush();
  }

  Close(): Promise<void> {
    return this.#analytics.close();
  }

  get Size(): number {
    return this.#analytics.state.flushAt;
  }

  set Size(size: number) {
    this.#analytics.configure({ size });
  }

  get FlushAt(): number {
    return this.#analytics.state.flushAt;
  }

  set FlushAt(flushAt: number) {
    this.#analytics.configure({ flushAt });
  }

  /** In milliseconds. */
  get FlushAfter(): number {
    return this.#analytics.state.flushAfter;
  }

  set FlushAfter(flushAfter: number) {
    this.#analytics.configure({ flushAfter });
  }

  /** The library's own name of `FlushAfter`. */
  get Interval(): number {
    return this.FlushAfter;
  }

  set Interval(interval: number) {
    this.FlushAfter = interval;
  }

  get Endpoint(): string {
    return this.#analytics.endpoint;
  }

  set Endpoint(endpoint: string) {
    this.#analytics.configure({ endpoint });
  }
}

/** As in Go, an empty text and 0 are the default. */
export type GoConfig = {
  Endpoint?: string;
  /** In milliseconds. */
  Interval?: number;
  BatchSize?: number;
  DefaultContext?: Members;
  /** In milliseconds. */
  RetryAfter?: (retries: number) => number;
  Callback?: {
    Success?: (message: UnsentMessage) => void;
    Failure?: (message: UnsentMessage, error: NotSentError) => void;
  };
};

const configNames: Record<keyof GoConfig, keyof AnalyticsOptions> = {
  Endpoint: "endpoint",
  Interval: "flushAfter",
  BatchSize: "flushAt",
  DefaultContext: "defaultContext",
  RetryAfter: "retryAfter",
  Callback: "callback",
};

export type GoMessage = GoCommon & {
  Type: CallType;
  UserId?: string;
  AnonymousId?: string;
  Event?: string;
  Name?: string;
  GroupId?: string;
  PreviousId?: string;
  Properties?: Members;
  Traits?: Members;
};

/** The client of version 3. `options` are those that its config does not have. */
export function NewWithConfig(
  writeKey: string,
  config: GoConfig = {},
  options: AnalyticsOptions = {},
): GoClient3 {
  refuseUnknownOptions(config, Object.keys(configNames));
  const { Callback: callback } = config;
  const given = Object.entries(config)
    .filter(([name, value]) => name !== "Callback" && value !== "" && value !== 0)
    .map(([name, value]) => [configNames[name as keyof GoConfig], value]);
  const own = Object.fromEntries(given) as AnalyticsOptions;
  if (callback !== undefined) {
    const { Success, Failure } = callback;
    own.callback = {
      success:
        typeof Success === "function" ? (message) => Success.call(callback, message) : Success,
      failure:
        typeof Failure === "function"
          ? (message, error) => Failure.call(callback, message, error)
          : Failure,
    };
  }
  return new GoClient3(new Analytics(writeKey, { wire: "v3", ...own, ...options }));
}

export class GoClient3 {
  readonly #analytics: Analytics;

  constructor(analytics: Analytics) {
    this.#analytics = analytics;
    Object.preventExtensions(this);
  }

  Enqueue(message: GoMessage): void {
    const { Type: type, ...call } = message;
    if (typeof type !== "string")
      throw new AnalyticsError("invalid_call", "You must pass a 'Type', such as 'track'.", "Type");
    this.#analytics.call(type, translated<object>(call));
  }

  Close(): Promise<void> {
    return this.#analytics.close();
  }
}

/** `UserId` is `userId`, and so on. A name in another spelling is refused. */
function translated<Call>(call: object, others: Record<string, string> = {}): Call {
  const members = Object.entries(call).map(([name, value]) => [
    others[name] ?? lowerFirst(name),
    value,
  ]);
  return Object.fromEntries(members) as Call;
}

const fields =
  "Type MessageId UserId AnonymousId GroupId PreviousId Event Name Category Properties Traits Context Integrations Timestamp".split(
    " ",
  );

function lowerFirst(name: string): string {
  if (/^[A-Z]/.test(name)) return name.charAt(0).toLowerCase() + name.slice(1);
  const plain = name.replaceAll("_", "").toLowerCase();
  const meant = fields.find((field) => field.toLowerCase() === plain);
  throw new AnalyticsError(
    "invalid_call",
    `'${name}' is not a field of this call, whose names are those of Go${meant === undefined ? "" : `. Use '${meant}'`}.`,
    name,
  );
}
