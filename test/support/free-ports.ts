/** Flags with which a Hookyard listens on ports that the system picks. */
export const freePorts = ["ingest", "ui", "endpoints", "endpoints-tls"].flatMap((port) => [
  `--${port}-port`,
  "0",
]);
