/** Every call between the pipeline and its users, once. */

import { aboutCalls, pipelineCalls, workspaceCalls } from "./pipeline.ts";
import type { Call, CallAnswer, CallInput, CheckedInput, HandlerAnswer } from "./call.ts";
import { audienceCalls, computedTraitCalls } from "./audiences.ts";
import { checkCalls } from "./checks.ts";
import { clientCalls } from "./clients.ts";
import { clockCalls } from "./clock.ts";
import { conditionCalls } from "./conditions.ts";
import { configurationCalls } from "./configuration.ts";
import { deletionCalls } from "./deletions.ts";
import { deliveryCalls } from "./deliveries.ts";
import { destinationCalls } from "./destinations.ts";
import { endpointCalls } from "./endpoints.ts";
import { mappingCalls } from "./mappings.ts";
import { flowCalls } from "./flow.ts";
import { messageCalls, shareCalls } from "./messages.ts";
import { profileCalls } from "./profiles.ts";
import { retryProfileCalls } from "./retry-profiles.ts";
import { scenarioCalls } from "./scenarios.ts";
import { storyCalls } from "./stories.ts";
import { settingsCalls } from "./settings.ts";
import { refusedCalls, sourceCalls, unknownKeyCalls } from "./sources.ts";
import type { CallName } from "./places.ts";
import type { Problem } from "../domain/problem.ts";

const all = [
  ...aboutCalls,
  ...sourceCalls,
  ...destinationCalls,
  ...conditionCalls,
  ...mappingCalls,
  ...messageCalls,
  ...shareCalls,
  ...deliveryCalls,
  ...clockCalls,
  ...endpointCalls,
  ...clientCalls,
  ...settingsCalls,
  ...retryProfileCalls,
  ...unknownKeyCalls,
  ...refusedCalls,
  ...pipelineCalls,
  ...flowCalls,
  ...configurationCalls,
  ...workspaceCalls,
  ...profileCalls,
  ...audienceCalls,
  ...computedTraitCalls,
  ...deletionCalls,
  ...scenarioCalls,
  ...storyCalls,
  ...checkCalls,
] as const;

type ByName<C extends Call> = { [One in C as One["name"]]: One };

export const calls = Object.fromEntries(all.map((call) => [call.name, call])) as ByName<
  (typeof all)[number]
> satisfies Record<CallName, Call>;

export type { CallName };
export type InputOf<Name extends CallName> = CallInput<(typeof calls)[Name]>;
type CheckedInputOf<Name extends CallName> = CheckedInput<(typeof calls)[Name]>;
export type AnswerOf<Name extends CallName> = CallAnswer<(typeof calls)[Name]>;
type HandlerAnswerOf<Name extends CallName> = HandlerAnswer<(typeof calls)[Name]>;

export function callNamed(name: string): Call | undefined {
  return Object.hasOwn(calls, name) ? calls[name as CallName] : undefined;
}

/**
 * The shape of a handler: a checked input in, the engine's values or a problem out. The API encodes
 * them. `caller` is aborted when the caller goes away.
 */
type Handler<Name extends CallName> = (
  input: CheckedInputOf<Name>,
  caller?: AbortSignal,
) => HandlerAnswerOf<Name> | Problem | Promise<HandlerAnswerOf<Name> | Problem>;

export type Handlers = { [Name in CallName]: Handler<Name> };

/** The handlers of some areas: those whose names begin with `sources.` and the like. */
export type HandlersOf<Area extends string> = {
  [Name in Extract<CallName, `${Area}.${string}`>]: Handler<Name>;
};
