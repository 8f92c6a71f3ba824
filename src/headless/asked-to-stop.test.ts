import { expect, test } from "vitest";
import { createStopCount } from "./asked-to-stop.ts";

test.each<[string, [signal: string, at: number][], string[]]>([
  [
    "one press of Ctrl+C that arrives twice or more",
    [
      ["SIGINT", 0],
      ["SIGINT", 0],
      ["SIGINT", 500],
    ],
    ["stop"],
  ],
  [
    "a second press",
    [
      ["SIGINT", 0],
      ["SIGINT", 501],
    ],
    ["stop", "end"],
  ],
  [
    "a press that arrives twice, and another",
    [
      ["SIGINT", 0],
      ["SIGINT", 1],
      ["SIGINT", 800],
    ],
    ["stop", "end"],
  ],
  [
    "another signal",
    [
      ["SIGINT", 0],
      ["SIGTERM", 0],
    ],
    ["stop", "end"],
  ],
  [
    "a press that ends the input too, and another",
    [
      ["SIGINT", 0],
      ["input", 5],
      ["SIGINT", 800],
    ],
    ["stop", "end"],
  ],
  [
    "the end of the input, and a signal",
    [
      ["input", 0],
      ["SIGTERM", 0],
    ],
    ["stop", "end"],
  ],
])("%s", (_, asked, expected) => {
  let time = 0;
  const did: string[] = [];
  const ask = createStopCount({
    stop: () => void did.push("stop"),
    end: () => void did.push("end"),
    now: () => 1_000 + time,
  });
  for (const [signal, at] of asked) {
    time = at;
    ask(signal);
  }
  expect(did).toEqual(expected);
});
