/**
 * What can keep Hookyard from starting, said to the user in one sentence by whichever host runs it.
 */

/** The data could not be opened. The message is the sentence. */
export class OpenError extends Error {
  override name = "OpenError";
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
