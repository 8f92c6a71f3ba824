/**
 * The shape of a handler: a checked input in, the engine's values or a problem out. The API encodes them. `caller` is aborted
 * when the caller goes away.
 */

import type { CallName, CheckedInputOf, HandlerAnswerOf } from "../contract/contract.ts";
import type { Problem } from "../domain/problem.ts";

type Handler<Name extends CallName> = (
  input: CheckedInputOf<Name>,
  caller?: AbortSignal,
) => HandlerAnswerOf<Name> | Problem | Promise<HandlerAnswerOf<Name> | Problem>;

export type Handlers = { [Name in CallName]: Handler<Name> };

/** The handlers of some areas: those whose names begin with `sources.` and the like. */
export type HandlersOf<Area extends string> = { [Name in Extract<CallName, `${Area}.${string}`>]: Handler<Name> };
