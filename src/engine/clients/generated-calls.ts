/** Calls that a client makes by itself: what the demo shop's customers do, drawn from the seed. Pure. */

import { shopMessages } from "../workspaces/shop.ts";
import type { CallType } from "../pipeline.ts";

type GeneratedCall = { type: CallType; call: Record<string, unknown> };

/** The client stamps them itself, and a page has a user, which a strict client asks for. */
export function generatedCall(seed: number, nth: number): GeneratedCall {
  const [message] = shopMessages({ seed, from: nth, count: 1, now: 0 });
  if (message === undefined) throw new Error("the shop drew nothing");
  const { type, timestamp: _timestamp, anonymousId, integrations, ...call } = message.body as Record<string, unknown>;
  return {
    type: type as CallType,
    call: {
      ...call,
      ...(anonymousId === undefined ? {} : { userId: anonymousId }),
      ...(Object.keys(integrations ?? {}).length === 0 ? {} : { integrations }),
    },
  };
}
