/** The client libraries that are run, how each is started, and what each loses without our doing. */

import { spawn } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { InputOf } from "../../src/contract/contract.ts";
import type { Language } from "./installed.ts";

type Faults = NonNullable<InputOf<"sources.create">["faults"]>;

export type Library = {
  name: string;
  version: string;
  language: Language;
  /** Its program, where that is for a page. */
  page?: string;
  /** Its package is one of the project's own. */
  isOfProject?: boolean;
  types: readonly string[];
  /** Fewer than of the others, where each is a request of its own. */
  calls?: number;
  /** 503 once when left out. */
  faults?: Faults;
  /** How many of its messages it never sends again, or never sends; none when left out. */
  loses?: { least: number; most: number; why: string };
};

const all = ["identify", "track", "page", "screen", "group", "alias"];
const without = (...left: string[]): string[] => all.filter((type) => !left.includes(type));

export const libraries: readonly Library[] = [
  { name: "@segment/analytics-node", version: "3.1.0", language: "node", types: all },
  { name: "analytics-node", version: "6.2.0", language: "node", types: all },
  { name: "@rudderstack/rudder-sdk-node", version: "3.0.13", language: "node", types: all },
  {
    name: "@segment/analytics-react-native",
    version: "2.24.1",
    language: "node",
    types: without("page"),
  },
  {
    name: "@segment/analytics-next",
    version: "1.84.3",
    language: "node",
    page: "analytics-next.js",
    types: all,
    calls: 40,
  },
  {
    name: "@rudderstack/analytics-js",
    version: "3.34.1",
    language: "node",
    page: "rudderstack.js",
    types: without("screen"),
  },
  {
    name: "@segment/snippet",
    version: "5.2.1",
    language: "node",
    page: "snippet.js",
    isOfProject: true,
    types: all,
  },
  {
    name: "analytics with @analytics/segment",
    version: "0.8.19, 2.1.0",
    language: "node",
    page: "analytics.js",
    types: without("screen", "alias"),
    calls: 40,
    loses: { least: 1, most: 1, why: "a group call before the plugin is initialized" },
  },
  {
    name: "analytics-go 1.2",
    version: "1.2.0",
    language: "go",
    types: all,
    loses: { least: 1, most: 1000, why: "a batch that is not answered with success" },
  },
  {
    name: "analytics-go 2.0",
    version: "2.0.0",
    language: "go",
    types: without("screen"),
    loses: {
      least: 250,
      most: 350,
      why: "a batch of 250 that is not answered with success; up to 100 queued messages at Close",
    },
  },
  { name: "analytics-go 3", version: "3.3.0", language: "go", types: all },
  { name: "segment.analytics", version: "2.4.0", language: "python", types: all },
  { name: "rudderstack.analytics", version: "2.1.9", language: "python", types: all },
  {
    name: "analytics-java",
    version: "3.5.4",
    language: "java",
    types: all,
    // It waits up to 30 seconds for its next try, unless its HTTP client is asked to hurry.
    faults: [{ do: "answer", status: 503, retryAfter: 0, times: 1 }],
  },
  { name: "analytics-ruby", version: "2.5.0", language: "ruby", types: all },
  {
    name: "PlainForkCurl",
    version: "3.8.2",
    language: "php",
    types: all,
    loses: {
      least: 100,
      most: 100,
      why: "a batch that is not answered with success: only curl's exit code counts",
    },
  },
];

const sources = fileURLToPath(new URL("./", import.meta.url));

type Program = { url: string; writeKey: string; count: number };

/** Runs the program of a library to its end, and returns what it printed. */
export async function runProgram(
  { name, language }: Library,
  folder: string,
  { url, writeKey, count }: Program,
): Promise<string> {
  const { host, hostname, port } = new URL(url);
  const given = [url, writeKey, String(count)];
  const source = (file: string): string => join(sources, language, file);
  switch (language) {
    case "node":
      return output([process.execPath, source("client.mjs"), name, ...given], folder);
    case "go":
      return output([join(folder, "client"), name.replace("analytics-go ", ""), ...given], folder);
    case "python":
      return output(["python3", source("client.py"), name, ...given], folder, {
        PYTHONPATH: join(folder, "libraries"),
      });
    case "java": {
      const classes = [folder, join(folder, "libraries", "*")].join(
        process.platform === "win32" ? ";" : ":",
      );
      return output(
        ["java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", classes, "Client", ...given],
        folder,
      );
    }
    case "ruby":
      return output(["ruby", source("client.rb"), hostname, port, writeKey, String(count)], folder);
    case "php":
      return output(["php", source("client.php"), name, host, writeKey, String(count)], folder);
  }
}

function output(
  [command = "", ...given]: string[],
  cwd: string,
  env: Record<string, string> = {},
): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, given, {
      cwd,
      env: { ...process.env, ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let text = "";
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (bytes: Buffer) => (text += bytes.toString()));
    child.on("error", reject);
    child.on("close", (code) =>
      code === 0 ? resolve(text) : reject(new Error(`${command} ended with ${code}: ${text}`)),
    );
  });
}
