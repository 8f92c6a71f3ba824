/**
 * The client in the spelling of the Go library, so that its tables can be followed to the letter:
 * `New(writeKey)`, then `client.Track({ UserId: "u1", Event: "Bought" })`. Only translates names.
 */

import { Analytics } from "./analytics.ts";
import type { Alias, Common, Group, Identify, Members, Page, Track } from "./calls.ts";
import type { AnalyticsOptions } from "./options.ts";

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

  get Endpoint(): string {
    return this.#analytics.endpoint;
  }

  set Endpoint(endpoint: string) {
    this.#analytics.configure({ endpoint });
  }
}

/**
 * `UserId` is `userId`, and so on. A name in another spelling stays, and the call's check refuses
 * it.
 */
function translated<Call>(call: object, others: Record<string, string> = {}): Call {
  const members = Object.entries(call).map(([name, value]) => [
    others[name] ?? lowerFirst(name),
    value,
  ]);
  return Object.fromEntries(members) as Call;
}

function lowerFirst(name: string): string {
  return /^[A-Z]/.test(name) ? name.charAt(0).toLowerCase() + name.slice(1) : `'${name}'`;
}
