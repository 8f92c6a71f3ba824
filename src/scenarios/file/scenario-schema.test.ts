import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { z } from "zod";
import { scenarioFile } from "./scenario-schema.ts";

const resources = new URL("../../../resources/", import.meta.url);

test("the published schema is that of the files that are read (npx vitest run src/scenarios/file --update writes it again)", async () => {
  const schema = z.toJSONSchema(scenarioFile, { io: "input", target: "draft-7" });
  await expect(`${JSON.stringify(schema, null, 2)}\n`).toMatchFileSnapshot(
    "../../../resources/scenario.schema.json",
  );
});

const published = (): z.ZodType =>
  z.fromJSONSchema(JSON.parse(readFileSync(new URL("scenario.schema.json", resources), "utf8")));

test.each(readdirSync(new URL("scenarios/", resources)))(
  "by the published schema %s is a scenario",
  (file) => {
    expect(
      published().safeParse(parse(readFileSync(new URL(`scenarios/${file}`, resources), "utf8")))
        .error,
    ).toBeUndefined();
  },
);

test("by the published schema a misspelt member is none", () => {
  expect(published().safeParse({ name: "A", steps: [{ advance: "1h" }] }).success).toBe(true);
  expect(published().safeParse({ name: "A", steps: [{ advence: "1h" }] }).success).toBe(false);
  expect(published().safeParse({ name: "A", steps: [{ advance: "soon" }] }).success).toBe(false);
});
