/** Every call between the pipeline and its users, once. */

import { aboutCalls, pipelineCalls, workspaceCalls } from "./pipeline.ts";
import type { Call, CallAnswer, CallInput, CheckedInput, HandlerAnswer } from "./call.ts";
import { audienceCalls } from "./audiences.ts";
import { clientCalls } from "./clients.ts";
import { clockCalls } from "./clock.ts";
import { computedTraitCalls } from "./computed-traits.ts";
import { configurationCalls } from "./configuration.ts";
import { deletionCalls } from "./deletions.ts";
import { deliveryCalls } from "./deliveries.ts";
import { destinationCalls } from "./destinations.ts";
import { endpointCalls } from "./endpoints.ts";
import { messageCalls } from "./messages.ts";
import { profileCalls } from "./profiles.ts";
import { retryProfileCalls } from "./retry-profiles.ts";
import { scenarioCalls } from "./scenarios.ts";
import { settingsCalls } from "./settings.ts";
import { sourceCalls, unknownKeyCalls } from "./sources.ts";

const all = [
  ...aboutCalls,
  ...sourceCalls,
  ...destinationCalls,
  ...messageCalls,
  ...deliveryCalls,
  ...clockCalls,
  ...endpointCalls,
  ...clientCalls,
  ...settingsCalls,
  ...retryProfileCalls,
  ...unknownKeyCalls,
  ...pipelineCalls,
  ...configurationCalls,
  ...workspaceCalls,
  ...profileCalls,
  ...audienceCalls,
  ...computedTraitCalls,
  ...deletionCalls,
  ...scenarioCalls,
] as const;

type ByName<C extends Call> = { [One in C as One["name"]]: One };

export const calls = Object.fromEntries(all.map((call) => [call.name, call])) as ByName<(typeof all)[number]>;

export type CallName = keyof typeof calls;
export type InputOf<Name extends CallName> = CallInput<(typeof calls)[Name]>;
export type CheckedInputOf<Name extends CallName> = CheckedInput<(typeof calls)[Name]>;
export type AnswerOf<Name extends CallName> = CallAnswer<(typeof calls)[Name]>;
export type HandlerAnswerOf<Name extends CallName> = HandlerAnswer<(typeof calls)[Name]>;

export function callNamed(name: string): Call | undefined {
  return Object.hasOwn(calls, name) ? calls[name as CallName] : undefined;
}
