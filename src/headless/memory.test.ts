import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { freePorts } from "../../test/support/free-ports.ts";
import { program as hookyard } from "../../test/support/program.ts";

/** Some objects live for a while, as those of requests do. */
const program = `
import { setImmediate } from "node:timers/promises";
import { getHeapSpaceStatistics } from "node:v8";
import { keepMemorySmall } from ${JSON.stringify(new URL("memory.ts", import.meta.url).href)};
keepMemorySmall();
let living = [];
for (let turn = 0; turn < 200; turn += 1) {
  for (let nth = 0; nth < 20_000; nth += 1) living.push({ nth, texts: ["a", "b" + nth] });
  if (living.length > 200_000) living = living.slice(100_000);
  await setImmediate();
}
const young = getHeapSpaceStatistics().find((space) => space.space_name === "new_space");
console.log(young.space_size / 1024 / 1024);
`;

test("the space for new objects ends at a fourth of what V8 gives it on a large machine", async () => {
  const flags = ["--input-type=module-typescript", "-e", program];
  const { stdout } = await promisify(execFile)(process.execPath, flags);
  expect(Number(stdout)).toBeGreaterThan(8);
  expect(Number(stdout)).toBeLessThanOrEqual(32);
});

/** Tells which flags the program sets. */
const telling = `
import v8 from "node:v8";
import { syncBuiltinESMExports } from "node:module";
const set = v8.setFlagsFromString;
v8.setFlagsFromString = (flag) => { process.stderr.write(flag); set(flag); };
syncBuiltinESMExports();`;

test("serve keeps its memory small", async () => {
  const flags = ["--import", `data:text/javascript,${encodeURIComponent(telling)}`, hookyard];
  const child = spawn(process.execPath, [...flags, "serve", "--data", ":memory:", ...freePorts], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  let set = "";
  child.stderr.on("data", (chunk: Buffer) => (set += chunk.toString()));
  await once(child.stdout, "data");
  child.kill("SIGTERM");
  await once(child, "close");
  expect(set).toMatch(/^--heap-growing-percent=\d+/);
});
