/**
 * The engine of `npm run dev`: `hookyard` from its sources, which ends when the dev loop does, even
 * if the loop is killed.
 */

process.once("disconnect", () => process.kill(process.pid, "SIGTERM"));
await import("../headless/cli.ts");
