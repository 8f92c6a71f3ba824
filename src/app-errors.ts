/**
 * What can keep Hookyard from starting, said to the user in one sentence by whichever host runs it.
 */

/** What was asked for at the start cannot be done. The message is the sentence. */
export class Refusal extends Error {
  override name = "Refusal";
}

/** Of a configuration file, one line for each mistake. */
export class WrongConfig extends Refusal {
  override name = "WrongConfig";
}

/** The data could not be opened. The message is the sentence. */
export class OpenError extends Error {
  override name = "OpenError";
}

/** There is no place for the data that this user has not named. */
export class NoHome extends OpenError {
  override name = "NoHome";

  constructor() {
    super("This user has no home directory: name one with --data or HOOKYARD_DATA.");
  }
}

/** Another process works on the data. */
export class DataInUse extends OpenError {
  override name = "DataInUse";
  readonly dataDir: string;

  constructor(dataDir: string) {
    super(
      `The data in ${dataDir} is in use by another running Hookyard. Stop it, or start this one with another --data directory.`,
    );
    this.dataDir = dataDir;
  }
}

export type PortRole = "ingest" | "ingestTls" | "ui" | "endpoints" | "endpointsTls";

export class PortTaken extends Error {
  override name = "PortTaken";
  readonly port: number;
  readonly role: PortRole;

  constructor({ port, role }: { port: number; role: PortRole }) {
    super(`Port ${port} is in use by another program.`);
    this.port = port;
    this.role = role;
  }
}
