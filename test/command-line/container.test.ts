/**
 * The container file, the compose example and the commands that the guide shows for them, without a
 * container engine: each step runs as a plain process in an empty directory. The packages that the
 * installation needs come from a registry in this process, with what is installed here.
 */

import { execFile, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  copyFileSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
} from "node:fs";
import { createServer, get } from "node:http";
import { hostname, tmpdir } from "node:os";
import { basename, join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import { expect, onTestFinished, test } from "vitest";
import { serve } from "../../src/headless/commands.ts";
import { buildIfStale, root } from "../../src/launch/build.ts";
import { readYaml } from "../../src/scenarios/file/yaml-places.ts";

const folder = "resources/container";
const home = "/home/node";
const usualPorts = {
  ingest: serve.flags["ingest-port"].default,
  ui: serve.flags["ui-port"].default,
  endpoints: serve.flags["endpoints-port"].default,
  "endpoints-tls": serve.flags["endpoints-tls-port"].default,
};
type Ready = { uiUrl: string; token: string; dataDir: string };

const read = (path: string): string => readFileSync(join(root, path), "utf8");

/** The instructions of a container file, each in one line. */
function instructionsOf(text: string): { name: string; rest: string }[] {
  return text
    .replaceAll(/\\\n\s*/g, "")
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"))
    .map((line) => {
      const [name = "", ...rest] = line.split(" ");
      return { name, rest: rest.join(" ") };
    });
}

/** What npm asks a registry for, from the packages of this clone. */
async function startRegistry(names: readonly string[]): Promise<string> {
  const server = createServer(({ url = "", headers }, response) => {
    const name = basename(url);
    const packed = names.find((one) => name.endsWith(".tgz") && name.startsWith(`${one}-`));
    if (packed !== undefined) return void response.end(tarballOf(packed));
    if (!names.includes(name)) return void response.writeHead(404).end("{}");
    const about = JSON.parse(read(`node_modules/${name}/package.json`)) as { version: string };
    const tarball = `http://${headers.host ?? ""}/${name}-${about.version}.tgz`;
    const versions = { [about.version]: { ...about, dist: { tarball } } };
    response.end(JSON.stringify({ name, "dist-tags": { latest: about.version }, versions }));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as { port: number }).port}`;
}

/** With what is installed, which npm would choose and compress for seconds. */
function tarballOf(name: string): Buffer {
  const to = mkdtempSync(join(tmpdir(), "hookyard-tarball-"));
  symlinkSync(join(root, "node_modules", name), join(to, "package"));
  const tarball = execFileSync("tar", ["-chf", "-", "-C", to, "package"], { maxBuffer: 2 ** 30 });
  rmSync(to, { recursive: true });
  return gzipSync(tarball, { level: 1 });
}

function pack(to: string, packages: readonly string[]): void {
  mkdirSync(to, { recursive: true });
  execFileSync("npm", ["pack", "--ignore-scripts", "--pack-destination", to, ...packages], {
    cwd: root,
    stdio: "ignore",
  });
}

/** What the container file makes of an empty directory. */
class Image {
  readonly #directory = mkdtempSync(join(tmpdir(), "hookyard-container-"));
  readonly #environment: Record<string, string>;
  readonly exposed: string[] = [];
  volume = "";
  user = "root";
  health: string[] = [];
  command: string[] = [];
  #at = "/";

  constructor(registry: string) {
    onTestFinished(() => rmSync(this.#directory, { recursive: true }));
    // The image of the file has these.
    mkdirSync(this.#inside(home), { recursive: true });
    mkdirSync(this.#inside("/bin"));
    symlinkSync(process.execPath, this.#inside("/bin/node"));
    this.#environment = {
      PATH: `${this.#inside("/bin")}:${process.env["PATH"] ?? ""}`,
      HOME: this.#inside(home),
      npm_config_registry: registry,
    };
  }

  async build(text: string, context: string): Promise<void> {
    for (const { name, rest } of instructionsOf(text)) {
      if (name === "FROM") expect(rest).toBe(`node:${nodeMajor()}-slim`);
      else if (name === "USER") this.user = rest;
      else if (name === "WORKDIR") this.#at = rest;
      else if (name === "COPY") this.#copy(rest, context);
      else if (name === "RUN") await this.run(["sh", "-euc", rest]);
      else if (name === "ENV") this.#set(rest);
      else if (name === "VOLUME") this.volume = rest;
      else if (name === "EXPOSE") this.exposed.push(...rest.split(" "));
      else if (name === "HEALTHCHECK") this.health = listIn(rest.replace(/^.* CMD /, ""));
      else if (name === "CMD") this.command = listIn(rest);
      else throw new Error(`The test does not know ${name}.`);
    }
  }

  /** Paths of the container are in the directory; `env` is that of `docker run`. */
  start([program = "", ...args]: readonly string[], env: Record<string, string> = {}) {
    return spawn(program, args.map(this.#within), {
      cwd: this.#inside(this.#at),
      env: { ...this.#environment, ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
  }

  async run(command: readonly string[]): Promise<string> {
    const [program = "", ...args] = command;
    const { stdout } = await promisify(execFile)(program, args.map(this.#within), {
      cwd: this.#inside(this.#at),
      env: this.#environment,
    });
    return stdout;
  }

  #copy(rest: string, context: string): void {
    const [owner, from = "", to] = rest.split(" ");
    expect({ owner, to }).toEqual({ owner: `--chown=${this.user}:${this.user}`, to: "./" });
    for (const file of globSync(from, { cwd: context }))
      copyFileSync(join(context, file), join(this.#inside(this.#at), file));
  }

  #set(rest: string): void {
    const [name = "", value = ""] = rest.split("=");
    const filled = this.#within(value).replaceAll("$PATH", this.#environment["PATH"] ?? "");
    this.#environment[name] = filled;
  }

  readonly #inside = (path: string): string => join(this.#directory, path);
  readonly #within = (text: string): string => text.replaceAll(home, this.#inside(home));
}

function listIn(text: string): string[] {
  return JSON.parse(text) as string[];
}

function nodeMajor(): string {
  const { engines } = JSON.parse(read("package.json")) as { engines: { node: string } };
  return engines.node.replace(">=", "");
}

/** Of the container, on free ports. */
async function startContainer(image: Image) {
  const ports = Object.keys(usualPorts).map((of) => [
    `HOOKYARD_${of.toUpperCase().replace("-", "_")}_PORT`,
    "0",
  ]);
  const child = image.start(image.command, { ...Object.fromEntries(ports), HOOKYARD_JSON: "1" });
  const said = { err: "" };
  child.stderr.setEncoding("utf8").on("data", (text: string) => (said.err += text));
  const ended = once(child, "close");
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await ended;
  });
  const [line] = (await once(createInterface({ input: child.stdout }), "line")) as [string];
  const ready = JSON.parse(line) as Ready;
  const port = new URL(ready.uiUrl).port;
  return {
    ready,
    said,
    async isHealthy(): Promise<boolean> {
      const check = image.start(image.health.map((part) => part.replace(usualPorts.ui, port)));
      return ((await once(check, "close")) as [number])[0] === 0;
    },
    async stop(): Promise<number> {
      child.kill("SIGTERM");
      return ((await ended) as [number])[0];
    },
  };
}

function statusOf(url: string, headers: Record<string, string>): Promise<number> {
  return new Promise((resolve, reject) => {
    get(url, { headers, agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    }).on("error", reject);
  });
}

test("the guide's commands build the image from the packed program, start it and use it", async () => {
  await buildIfStale();
  const context = mkdtempSync(join(tmpdir(), "hookyard-context-"));
  onTestFinished(() => rmSync(context, { recursive: true }));
  const { packages } = JSON.parse(read("package-lock.json")) as {
    packages: Record<string, { dev?: boolean; link?: boolean }>;
  };
  const needed = Object.entries(packages)
    .filter(([path, { dev, link }]) => path.startsWith("node_modules/") && !dev && !link)
    .map(([path]) => path.replace("node_modules/", ""));
  const image = new Image(await startRegistry(needed));

  const block = /## In a container\n[^]*?```sh\n([^]*?)```/.exec(read("docs/ci.md"))?.[1] ?? "";
  const printed: string[] = [];
  let container: Awaited<ReturnType<typeof startContainer>> | null = null;
  for (const line of block.trim().split("\n")) {
    if (line === "npm ci") continue;
    const [, command] = /^docker compose (?:--file \S+ )?exec hookyard (.*)$/.exec(line) ?? [];
    if (line.startsWith("npm pack ")) {
      expect(line).toBe(`npm pack --pack-destination ${folder}`);
      pack(context, ["."]);
    } else if (command !== undefined) printed.push(await image.run(["sh", "-euc", command]));
    else {
      expect(line).toBe(`docker compose --file ${folder}/compose.yaml up --build --wait`);
      await image.build(read(`${folder}/Dockerfile`), context);
      container = await startContainer(image);
      expect(await container.isHealthy()).toBe(true);
    }
  }
  if (container === null) throw new Error("The guide starts nothing.");
  const { ready, said } = container;
  expect(printed.map((text) => text.trim())).toEqual([
    expect.stringMatching(/^msg_\d+ /),
    ready.token,
  ]);

  expect(image.user).toBe("node");
  expect(said.err).toContain("Hookyard listens on 0.0.0.0.");
  const authorized = { Authorization: `Bearer ${ready.token}` };
  const about = `${ready.uiUrl}/api/about`;
  expect(await statusOf(about, {})).toBe(401);
  const port = new URL(ready.uiUrl).port;
  expect(await statusOf(about, { ...authorized, Host: `${hostname()}:${port}` })).toBe(200);
  expect(await statusOf(about, { ...authorized, Host: `evil.com:${port}` })).toBe(403);

  expect(await container.stop()).toBe(0);
  expect(await container.isHealthy()).toBe(false);
  const again = await startContainer(image);
  expect(again.ready).toMatchObject({ token: ready.token });
  expect(ready.dataDir.endsWith(image.volume)).toBe(true);
  const kept = await image.run(["hookyard", "messages", "--json"]);
  expect(JSON.parse(kept)).toMatchObject({ total: 1 });
  await again.stop();
});

test("the compose example publishes each port on loopback only, and keeps the data", () => {
  const instructions = instructionsOf(read(`${folder}/Dockerfile`));
  const of = (wanted: string): string =>
    instructions.find(({ name }) => name === wanted)?.rest ?? "";
  const compose = readYaml(read(`${folder}/compose.yaml`), { maxValues: 1000 });
  expect(of("EXPOSE").split(" ")).toEqual(Object.values(usualPorts));
  expect(compose).toMatchObject({
    value: {
      services: {
        hookyard: {
          build: ".",
          hostname: "hookyard",
          ports: Object.values(usualPorts).map((port) => `127.0.0.1:${port}:${port}`),
          volumes: [`data:${of("VOLUME")}`],
        },
      },
      volumes: { data: null },
    },
  });
});
