/**
 * What a configuration file may say: what the contract imports, and the ports.
 * `resources/config.schema.json` is generated from it.
 */

import { z } from "zod";
import { configurationDocument } from "../contract/configuration.ts";

const port = z
  .int({ error: "a number from 0 to 65535" })
  .min(0, "a number from 0 to 65535")
  .max(65_535, "a number from 0 to 65535")
  .optional();
const { version, ...shape } = configurationDocument.shape;

export const configFile = z
  .strictObject({
    $schema: z.string().optional().describe("The schema for editors."),
    version: version.optional(),
    ports: z
      .strictObject({
        ingest: port,
        ingestTls: port,
        ui: port,
        endpoints: port,
        endpointsTls: port,
      })
      .optional()
      .describe("Where Hookyard listens, unless a flag or the environment says otherwise."),
    ...shape,
  })
  .meta({ id: "HookyardConfig", title: "A configuration of Hookyard" });
