import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const start = fileURLToPath(new URL("./start.ts", import.meta.url));
const freePorts = ["--ingest-port", "0", "--ui-port", "0", "--endpoints-port", "0", "--endpoints-tls-port", "0"];

// Elsewhere there is always a display, and this would open the product.
test.runIf(process.platform === "linux")("without a display it says so in one sentence, and serves the inspector", async () => {
  const { DISPLAY: _, WAYLAND_DISPLAY: __, ...environment } = process.env;
  const child = spawn(process.execPath, [start, "--data", ":memory:", ...freePorts], {
    stdio: ["ignore", "pipe", "pipe"],
    env: environment,
  });
  let errors = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    errors += text;
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const line = async () => String((await lines.next()).value);
  expect(await line()).toBe("There is no display here, so open the inspector's address below in a browser yourself.");
  let address: string | undefined;
  while (address === undefined) address = /Inspector +(\S+)/.exec(await line())?.[1];
  const page = await fetch(address);
  expect(await page.text()).toContain("<title>Hookyard</title>");
  child.kill("SIGTERM");
  const [code] = (await once(child, "close")) as [number | null];
  expect(code).toBe(0);
  // Only the build may say something there.
  expect(errors.replace(/^Building Hookyard…\n/, "")).toBe("");
});

test("asked for help it says at once what it takes, and builds nothing", async () => {
  const child = spawn(process.execPath, [start, "--data", ":memory:", "--help"], { stdio: ["ignore", "pipe", "pipe"] });
  const said = { stdout: "", stderr: "" };
  for (const stream of ["stdout", "stderr"] as const) {
    child[stream].setEncoding("utf8").on("data", (text: string) => {
      said[stream] += text;
    });
  }
  expect(await once(child, "close")).toEqual([0, null]);
  expect(said.stdout).toMatch(/^Usage: npm start \[-- flags\]\n/);
  expect(said.stdout).toContain("--ingest-port N");
  expect(said.stderr).toBe("");
});
