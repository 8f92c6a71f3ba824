import { describe, expect, test } from "vitest";
import type { Command } from "../../stores/commands.ts";
import { markedParts, matchCommands } from "./match.ts";

const command = (label: string): Command => ({
  id: label,
  label,
  icon: "step",
  run: () => undefined,
});
const commands = [
  "Step to next due",
  "Add a step to flaky-billing",
  "Set back flaky-billing to step 1",
  "Overstepped",
].map(command);
const labels = (text: string) => matchCommands(commands, text).map((match) => match.command.label);

describe("commands", () => {
  test("that begin with the word come first, then those with a word that begins with it, then those that hold it", () => {
    expect(labels("step")).toEqual([
      "Step to next due",
      "Add a step to flaky-billing",
      "Set back flaky-billing to step 1",
      "Overstepped",
    ]);
  });

  test("must hold every word that was typed, in any order and case", () => {
    expect(labels("FLAKY add")).toEqual(["Add a step to flaky-billing"]);
    expect(labels("step nowhere")).toEqual([]);
  });

  test("are found by their ids and by what they are, after those whose label matches", () => {
    const billing = { ...command("Billing"), hint: "destination", also: "dst_000000007" };
    const all = [billing, command("New destination")];
    const found = (text: string) => matchCommands(all, text).map((match) => match.command.label);
    expect(found("destination")).toEqual(["New destination", "Billing"]);
    expect(found("dst_000000007")).toEqual(["Billing"]);
    expect(found("bill dest")).toEqual(["Billing"]);
  });

  test("are all offered while nothing is typed", () => {
    expect(labels("  ")).toHaveLength(commands.length);
  });
});

test("a label is cut at its marks and put together again", () => {
  const [match] = matchCommands([command("Set back flaky-billing to step 1")], "step set");
  const parts = markedParts("Set back flaky-billing to step 1", match?.marks ?? []);
  expect(parts.filter((part) => part.marked).map((part) => part.text)).toEqual(["Set", "step"]);
  expect(parts.map((part) => part.text).join("")).toBe("Set back flaky-billing to step 1");
});

test("marks that overlap are shown once", () => {
  expect(
    markedParts("step", [
      { start: 0, end: 4 },
      { start: 0, end: 2 },
    ]).map((part) => part.text),
  ).toEqual(["step"]);
});
