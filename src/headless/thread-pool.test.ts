import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { expect, onTestFinished, test } from "vitest";
import { freePorts } from "../../test/support/free-ports.ts";
import { program } from "../../test/support/program.ts";

test.skipIf(process.platform !== "linux").each([
  [{}, 16],
  [{ UV_THREADPOOL_SIZE: "5" }, 5],
])("serve with %j in its environment has %i threads for lookups", async (environment, count) => {
  const { UV_THREADPOOL_SIZE: _, ...env } = process.env;
  // A name is looked up.
  const flags = ["--data", ":memory:", "--host", "localhost", ...freePorts];
  const child = spawn(process.execPath, [program, "serve", ...flags], {
    stdio: ["ignore", "pipe", "ignore"],
    env: { ...env, ...environment },
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  await once(child.stdout, "data");
  const tasks = `/proc/${child.pid}/task`;
  const names = readdirSync(tasks).map((id) => readFileSync(`${tasks}/${id}/comm`, "utf8").trim());
  expect(names.filter((name) => name === "libuv-worker")).toHaveLength(count);
});
