/**
 * The page of all settings has those of the contract and of the command line, with their defaults,
 * and no others.
 */

import { readFileSync } from "node:fs";
import { describe, expect, test as base } from "vitest";
import { openApiDocument } from "../../src/api/openapi.ts";
import { defaultSettings } from "../../src/domain/configuration.ts";
import { starting } from "../support/running-app.ts";

const test = base.extend("start", starting);
const page = readFileSync(new URL("../../docs/settings.md", import.meta.url), "utf8");

/** The rows of the table below a heading, by their first cell. */
function rowsBelow(heading: string): Map<string, string[]> {
  const section = page.split(/^## /m).find((part) => part.startsWith(`${heading}\n`)) ?? "";
  const rows = [...section.matchAll(/^\| `(.+)$/gm)].map(([line]) =>
    line.split("|").map((cell) => cell.trim()),
  );
  return new Map(rows.map(([, name = "", ...rest]) => [name.replaceAll("`", ""), rest]));
}

const { components } = openApiDocument("0.0.0") as {
  components: { schemas: Record<string, { properties?: object }> };
};
const membersOf = (schema: string): string[] =>
  Object.keys(components.schemas[schema]?.properties ?? {}).toSorted();
const namesBelow = (heading: string): string[] => [...rowsBelow(heading).keys()].toSorted();

test.for([
  ["Of the whole pipeline", "SettingsChanges"],
  ["Of a source", "SourceDraft"],
  ["Of a destination", "DestinationDraft"],
  ["Of a retry profile", "RetryProfileDraft"],
  ["Of a test endpoint", "EndpointDraft"],
  ["Of a simulated client", "ClientDraft"],
] as const)("“%s” is %s of the contract", ([heading, schema]) => {
  expect(membersOf(schema).length).toBeGreaterThan(0);
  expect(namesBelow(heading)).toEqual(membersOf(schema));
});

describe("defaults", () => {
  test("of the whole pipeline are those of the program", () => {
    const rows = rowsBelow("Of the whole pipeline");
    for (const [name, value] of Object.entries(defaultSettings))
      expect(`${name}: ${rows.get(name)?.[0]}`).toBe(`${name}: \`${JSON.stringify(value)}\``);
  });

  test("of what is made are those of a new one", async ({ start }) => {
    const app = await start.app();
    const source = await app.call("sources.create", { name: "Shop" });
    const destination = await app.call("destinations.create", {
      name: "Crm",
      sourceIds: [source.id],
      webhooks: [{ url: app.endpointsUrl }],
    });
    const endpoint = await app.call("endpoints.create", {
      name: "Receiver",
      steps: [{ do: "answer" }],
    });
    const client = await app.call("clients.create", { name: "Server", sourceId: source.id });
    const made = {
      "Of a source": source,
      "Of a destination": destination,
      "Of a test endpoint": endpoint,
      "Of a simulated client": client,
    };
    for (const [heading, one] of Object.entries(made)) {
      for (const [name, [cell = ""]] of rowsBelow(heading)) {
        if (!cell.startsWith("`") || name === "sharedSecret") continue;
        expect(`${name}: ${cell}`).toBe(
          `${name}: \`${JSON.stringify((one as Record<string, unknown>)[name])}\``,
        );
      }
    }
  });
});
