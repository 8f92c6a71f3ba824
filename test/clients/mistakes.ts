/** Mistakes in pointing a client here, each made with a real library. */

import { execFile } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { Language } from "./installed.ts";

type Place = { url: string; folders: Record<Language, string | null> };
type Mistake = {
  /** As on the page. */
  name: string;
  needs: Language | "curl" | null;
  make: (place: Place) => Promise<string>;
};

const root = fileURLToPath(new URL("../../", import.meta.url));

/** The key of the source that exists. */
export const rightKey = "wk_shop";
const track = `{ userId: "u_1042", event: "Order Completed" }`;

/** What the program printed, whether it ended well or not. */
function printed(
  command: string,
  given: string[],
  { cwd = root, env = {} }: { cwd?: string; env?: Record<string, string> } = {},
): Promise<string> {
  return new Promise((resolve) => {
    execFile(command, given, { cwd, env: { ...process.env, ...env } }, (_error, out, errors) =>
      resolve(`${out}${errors}`),
    );
  });
}

type Options = { key?: string; host?: string };

/** `@segment/analytics-node` 3, whose errors are printed. */
function node(name: string, calls: string, { key = rightKey, host = "" }: Options = {}): Mistake {
  return {
    name,
    needs: null,
    make: ({ url }) =>
      printed(process.execPath, [
        "--input-type=module",
        "--eval",
        `import { Analytics } from "@segment/analytics-node";
         const client = new Analytics({
           writeKey: ${JSON.stringify(key)}, host: "${host || url}", maxRetries: 0,
         });
         client.on("error", (error) => console.error(error));
         ${calls}
         await client.closeAndFlush();`,
      ]),
  };
}

/** `analytics-node` 6 as it is: a rejected flush ends the program. */
function node6(name: string, path: string): Mistake {
  return {
    name,
    needs: "node",
    make: ({ url, folders }) =>
      printed(
        process.execPath,
        [
          "--eval",
          `const Analytics = require("analytics-node");
           const client = new Analytics("${rightKey}", { host: "${url}", path: "${path}" });
           client.track(${track});`,
        ],
        { cwd: folders.node ?? root },
      ),
  };
}

/** `segment-analytics-python`, which sends each call before it returns. */
function python(name: string, call: string, { key = rightKey, host }: Options = {}): Mistake {
  return {
    name,
    needs: "python",
    make: ({ url, folders }) => {
      const own = host?.replace("URL", url).replace("HOST", new URL(url).host) ?? url;
      return printed(
        "python3",
        [
          "-c",
          [
            "import segment.analytics as analytics",
            `analytics.write_key = ${JSON.stringify(key)}`,
            `analytics.host = ${JSON.stringify(own)}`,
            "analytics.sync_mode = True",
            call,
          ].join("\n"),
        ],
        { env: { PYTHONPATH: join(folders.python ?? "", "libraries") } },
      );
    },
  };
}
const pythonTrack = `analytics.track("u_1042", "Order Completed")`;

/** `analytics-go` 3, with these arguments of `NewWithConfig`. */
function go(name: string, { key = rightKey, host = "URL" }: Options): Mistake {
  return {
    name,
    needs: "go",
    make: ({ url, folders }) => {
      const own = host.replace("URL", url).replace("HOST", new URL(url).host);
      return printed(join(folders.go ?? "", "client"), ["3", own, key, "1"]);
    },
  };
}

function curl(name: string, ...given: string[]): Mistake {
  return {
    name,
    needs: "curl",
    make: ({ url }) =>
      printed("curl", [
        ...["--silent", "--show-error", "--noproxy", "*", `${url}/v1/track`],
        ...given,
      ]),
  };
}
const body = `{"userId":"u_1042","event":"Order Completed"}`;

export const mistakes: readonly Mistake[] = [
  go("A wrong port", { host: "http://127.0.0.1:1" }),
  go("`https` in Go", { host: "https://HOST" }),
  python("`https` in Python", pythonTrack, { host: "https://HOST" }),
  go("No scheme in Go", { host: "HOST" }),
  python("No scheme in Python", pythonTrack, { host: "HOST" }),
  go("Endpoint and key swapped", { host: rightKey, key: "http://127.0.0.1:4700" }),
  python("The whole path in the host", pythonTrack, { host: "URL/v1/batch" }),
  node6("A path without its version", "/track"),
  node6("A path that does not exist", "/v1/tracks"),
  node6("A single call's path for a batch", "/v1/track"),
  node("A wrong key in Node", `client.track(${track});`, { key: "wk_other" }),
  go("A wrong key in Go", { key: "wk_other" }),
  python("A wrong key in Python", pythonTrack, { key: "wk_other" }),
  python("A space behind the key", pythonTrack, { key: `${rightKey} ` }),
  go("An empty key", { key: "" }),
  curl("The key as a bearer token", "-H", `Authorization: Bearer ${rightKey}`, "-d", body),
  curl("GET", "-u", `${rightKey}:`),
  curl("A form in place of JSON", "-u", `${rightKey}:`, "-d", "userId=u_1042"),
  curl("`gzip` that is not", "-u", `${rightKey}:`, "-H", "Content-Encoding: gzip", "-d", body),
  curl("A number as user", "-u", `${rightKey}:`, "-d", body.replace(`"u_1042"`, "1042")),
  python("User and event swapped", `analytics.track("Order Completed", "u_1042")`),
  python("No user", `analytics.track(None, "Order Completed")`),
  node("An event of 40 KB", `client.track({ ...${track}, properties: { a: "a".repeat(40960) } });`),
  node(
    "The same `messageId` twice",
    `client.track({ ...${track}, messageId: "one" }); client.track({ ...${track}, messageId: "one" });`,
  ),
  node("An end without a flush", `client.track(${track}); process.exit();`),
  {
    name: "React Native without `allowInsecureProxy`",
    needs: "node",
    make: ({ folders }) =>
      printed(
        process.execPath,
        [
          "--input-type=module",
          "--eval",
          `const { endpointOf } = await import("${pathToFileURL(join(root, "test/clients/node/react-native.mjs")).href}");
           endpointOf({ useSegmentEndpoints: true, proxy: "http://127.0.0.1:4700/v1" });`,
        ],
        { cwd: folders.node ?? root },
      ),
  },
];
