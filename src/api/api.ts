/**
 * The control API: checks an input against the contract, calls the handler, and encodes what it
 * returns. The hosts call it, over HTTP or over a message port. It knows neither: no headers, no
 * tokens, no sockets. It never throws.
 */

import { z } from "zod";
import type { AboutAnswer } from "../contract/pipeline.ts";
import { callNamed, type CallName, type Handlers, type HandlersOf } from "../contract/contract.ts";
import { checkInput } from "../contract/call.ts";
import { isProblem, notFound, problem, type Problem } from "../domain/problem.ts";
import type { ChangeFeed, Pipeline } from "../engine/pipeline.ts";
import { storeFailure } from "../engine/store-failure.ts";
import { configurationHandlers, type Rehearsal } from "./handlers/configuration.ts";
import { deliveryHandlers, messageHandlers } from "./handlers/messages.ts";
import {
  audienceHandlers,
  computedTraitHandlers,
  deletionHandlers,
  profileHandlers,
} from "./handlers/people.ts";
import {
  clientHandlers,
  conditionHandlers,
  mappingHandlers,
  destinationHandlers,
  endpointHandlers,
  retryProfileHandlers,
  sourceHandlers,
  workspaceHandlers,
} from "./handlers/setup.ts";
import { settingsHandlers } from "./handlers/settings.ts";
import { openApiDocument } from "./openapi.ts";

export type ApiAnswer = { status: number; body: unknown };

export type Api = {
  /** `caller` is aborted when nobody waits for the answer; an advance of the clock then ends. */
  call(name: string, input: unknown, caller?: AbortSignal): Promise<ApiAnswer>;
  /** The API of a pipeline beside this one, such as that of an open story. */
  beside(id: string): Api | undefined;
  changes: ChangeFeed;
  openApi(): unknown;
  /** The numbers of the pipeline in Prometheus's text format. */
  metrics(): string;
};

export function createApi({
  pipeline,
  rehearse,
  others,
  beside,
  about,
  metrics,
  report,
}: {
  pipeline: Pipeline;
  rehearse: () => Rehearsal;
  /** The handlers of what is built on the pipeline. */
  others: HandlersOf<"scenarios" | "scenarioRuns" | "stories" | "shares" | "checks">;
  beside: Api["beside"];
  /** Asked each time: the ports are known only once they listen. */
  about: () => AboutAnswer;
  metrics: () => string;
  /** Gets every unexpected error. */
  report: (error: unknown) => void;
}): Api {
  const handlers: Handlers = {
    "about.get": about,
    "about.health": () =>
      pipeline.trouble() === null
        ? { status: "ok" as const, version: about().version }
        : problem(503, "trouble", "The data file does not work. GET /api/stats says why."),
    ...sourceHandlers(pipeline),
    ...destinationHandlers(pipeline),
    ...conditionHandlers,
    ...mappingHandlers(pipeline),
    ...messageHandlers(pipeline),
    ...deliveryHandlers(pipeline),
    ...clockHandlers(pipeline),
    ...endpointHandlers(pipeline),
    ...clientHandlers(pipeline),
    ...settingsHandlers(pipeline),
    ...retryProfileHandlers(pipeline),
    ...pipelineHandlers(pipeline),
    ...configurationHandlers(pipeline, rehearse, about),
    ...workspaceHandlers(pipeline),
    ...profileHandlers(pipeline),
    ...others,
    ...audienceHandlers(pipeline),
    ...computedTraitHandlers(pipeline),
    ...deletionHandlers(pipeline),
  };

  return {
    call: async (name, input, caller) => {
      const call = callNamed(name);
      if (call === undefined) return refusal(notFound("call", name));
      try {
        const checked = checkInput(call, input);
        if (isProblem(checked)) return refusal(checked);
        const handler = handlers[name as CallName] as (
          input: unknown,
          caller?: AbortSignal,
        ) => unknown;
        const answer = await handler(checked, caller);
        return isProblem(answer)
          ? refusal(answer)
          : { status: call.status, body: z.encode(call.answer, answer) };
      } catch (error) {
        report(error);
        return refusal(storeFailure(error) ?? internalProblem);
      }
    },
    beside,
    changes: pipeline.changes,
    openApi: () => openApiDocument(about().version),
    metrics,
  };
}

const internalProblem = problem(
  500,
  "internal",
  "Hookyard has a bug. Standard error has the details.",
);

export function refusal({ status, code, message, data }: Problem): ApiAnswer {
  return { status, body: data === undefined ? { code, message } : { code, message, data } };
}

function clockHandlers({ clock }: Pipeline): HandlersOf<"clock"> {
  return {
    "clock.get": () => clock.state(),
    "clock.set": ({ mode, speed }) => clock.set(mode, speed),
    "clock.advance": async (target, caller) => {
      const advanced = await clock.advance(target, caller);
      if (isProblem(advanced)) return advanced;
      const { state, ran, endedEarly } = advanced;
      return { ...state, ran, endedEarly };
    },
    "clock.cancelAdvance": () => clock.cancelAdvance(),
  };
}

function pipelineHandlers(pipeline: Pipeline): HandlersOf<"stats" | "flow" | "pipeline"> {
  return {
    "flow.get": () => pipeline.flow.look(),
    "stats.get": () => {
      const { messages, deliveries, dataBytes, dataId } = pipeline.queries.stats();
      const { queued, sending } = deliveries.byState;
      return {
        messages,
        deliveries,
        rates: pipeline.rates(),
        queueDepth: queued + sending,
        dataBytes,
        dataId,
        trouble: pipeline.trouble()?.message ?? null,
        deliveryTrouble: pipeline.deliveryTrouble(),
      };
    },
    "pipeline.settle": ({ timeoutMs }) => pipeline.settle(timeoutMs),
    "pipeline.reset": async ({ what, clock }) => {
      await pipeline.reset(what, clock);
      return { what };
    },
  };
}
