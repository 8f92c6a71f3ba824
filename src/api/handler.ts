/** The shape of a handler: a checked input in, the contract's answer or a problem out. */

import type { AnswerOf, CallName, CheckedInputOf } from "../contract/contract.ts";
import type { Problem } from "../domain/problem.ts";

type Handler<Name extends CallName> = (input: CheckedInputOf<Name>) => AnswerOf<Name> | Problem | Promise<AnswerOf<Name> | Problem>;

export type Handlers = { [Name in CallName]: Handler<Name> };

/** The handlers of some areas: those whose names begin with `sources.` and the like. */
export type HandlersOf<Area extends string> = { [Name in Extract<CallName, `${Area}.${string}`>]: Handler<Name> };
