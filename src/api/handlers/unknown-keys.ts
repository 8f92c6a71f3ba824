import { isProblem } from "../../domain/problem.ts";
import type { Pipeline } from "../../engine/pipeline.ts";
import type { HandlersOf } from "../handler.ts";
import { presentTime } from "../presenters.ts";
import { presentSource } from "./sources.ts";

export function unknownKeyHandlers({ messages }: Pipeline): HandlersOf<"unknownKeys"> {
  return {
    "unknownKeys.list": () => ({
      items: messages.unknownKeys().map((key) => ({ ...key, firstAt: presentTime(key.firstAt), lastAt: presentTime(key.lastAt) })),
    }),
    "unknownKeys.adopt": async ({ writeKey, name }) => {
      const source = await messages.adopt(writeKey, name);
      return isProblem(source) ? source : presentSource(source);
    },
    "unknownKeys.forget": ({ writeKey }) => messages.forgetUnknownKey(writeKey) ?? { writeKey },
  };
}
