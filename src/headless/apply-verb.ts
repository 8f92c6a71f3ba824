/** `hookyard apply`: a configuration file for the Hookyard that runs. */

import type { ConfigurationDocument } from "../contract/configuration.ts";
import { CallRefused } from "../scenarios/run/pipeline.ts";
import type * as commands from "./commands.ts";
import { WrongConfig } from "../app-errors.ts";
import { keptBeside, readConfigFile } from "./config-file.ts";
import { WrongInput, type Asked } from "./verb-command.ts";

export async function apply({
  hookyard,
  values,
  print,
  say,
}: Asked<typeof commands.apply>): Promise<number> {
  const config = await readConfigFile(values.config).catch((error: unknown) => {
    throw error instanceof WrongConfig ? new WrongInput(error.message) : error;
  });
  if (config === null)
    throw new WrongInput(
      "There is no hookyard.config.yaml, .json or .ts here or above. Name a file with --config.",
    );
  const {
    created,
    updated,
    missing = [],
  } = await hookyard.call("configuration.import", config.document).catch((error: unknown) => {
    if (error instanceof CallRefused) error.message = config.placed(error.message);
    throw error;
  });
  const present = await hookyard.call("configuration.export", {});
  const kept = keptBeside(config.document, present as ConfigurationDocument);
  print(
    { file: config.file, created, updated, kept, missing },
    `${config.file}: ${created} created, ${updated} updated.${kept.length === 0 ? "" : ` Not in the file, and kept: ${kept.join(", ")}.`}`,
  );
  for (const what of missing)
    say(`A credential was left out, and Hookyard does not have it. Enter it: ${what}.`);
  return 0;
}
