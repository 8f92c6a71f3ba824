import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";

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
