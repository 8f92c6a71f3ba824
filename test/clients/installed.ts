/**
 * Client libraries that are not ours, installed into the user's cache, never into the repository:
 * once for each state of their lock files and of our programs that are compiled with them. A
 * language or a registry that is not here is a reason to skip.
 */

import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

export const languages = ["node", "go", "python", "java", "ruby", "php"] as const;
export type Language = (typeof languages)[number];

type Command = [command: string, ...given: string[]];
type Way =
  | { files: readonly string[]; commands: readonly Command[] }
  /** Their registries are not used: the library is installed already, or the language is skipped. */
  | { isHere: Command };

const ways: Record<Language, Way> = {
  node: {
    files: ["package.json", "package-lock.json", ".npmrc"],
    commands: [["npm", "ci", "--no-audit", "--no-fund", "--prefer-offline", "--fetch-retries=0"]],
  },
  go: {
    files: ["go.mod", "go.sum", "client.go"],
    commands: [["go", "build", "-o", "client", "."]],
  },
  python: {
    files: ["requirements.txt"],
    commands: [
      [
        ...(["python3", "-m", "pip", "install", "--disable-pip-version-check"] as const),
        ...["--no-deps", "--require-hashes", "--only-binary=:all:", "--retries=0"],
        ...["--target=libraries", "--requirement=requirements.txt"],
      ],
    ],
  },
  java: {
    files: ["pom.xml", "Client.java"],
    commands: [
      ["mvn", "-q", "-B", "dependency:copy-dependencies", "-DoutputDirectory=libraries"],
      ["javac", "-cp", join("libraries", "*"), "Client.java"],
    ],
  },
  ruby: { isHere: ["ruby", "-e", `require "segment/analytics"`] },
  php: {
    isHere: [
      "php",
      "-r",
      `require "vendor/autoload.php"; exit(class_exists("Segment\\\\Segment") && function_exists("mb_strlen") ? 0 : 1);`,
    ],
  },
};

/** The folder with the libraries of a language, or why there is none. */
export type Installed = { folder: string; reason: null } | { folder: null; reason: string };

const sources = fileURLToPath(new URL("./", import.meta.url));
const cache = join(process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache"), "hookyard-clients");

/** Only for a registry that never answers. */
const patienceMs = 180_000;

/** The first process that asks installs; the others wait for it, as long as it lives. */
export async function installed(language: Language): Promise<Installed> {
  const way = ways[language];
  const folder = join(sources, language);
  if ("isHere" in way) {
    const failed = await run(way.isHere, folder);
    return failed === null ? { folder, reason: null } : skipped(language, failed);
  }
  const state = createHash("sha256");
  for (const file of way.files) state.update(readFileSync(join(folder, file)));
  const final = join(cache, `${language}-${state.digest("hex").slice(0, 16)}`);
  mkdirSync(cache, { recursive: true });
  const lock = `${final}.lock`;
  for (;;) {
    if (existsSync(final)) return { folder: final, reason: null };
    if (claims(lock)) break;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  const own = mkdtempSync(`${final}-`);
  try {
    for (const file of way.files) copyFileSync(join(folder, file), join(own, file));
    for (const command of way.commands) {
      const failed = await run(command, own);
      if (failed !== null) return skipped(language, failed);
    }
    try {
      renameSync(own, final);
    } catch (error) {
      // Two processes may have found the lock of one that is gone.
      if (!existsSync(final)) throw error;
    }
    return { folder: final, reason: null };
  } finally {
    rmSync(own, { recursive: true, force: true });
    rmSync(lock, { force: true });
  }
}

/** Whether the lock is this process's; that of a process that is gone is removed. */
function claims(lock: string): boolean {
  try {
    writeFileSync(lock, String(process.pid), { flag: "wx" });
    return true;
  } catch {
    if (!isAlive(lock)) rmSync(lock, { force: true });
    return false;
  }
}

function isAlive(lock: string): boolean {
  try {
    const pid = readFileSync(lock, "utf8");
    // Between its creation and its first byte, it is empty.
    return pid === "" || process.kill(Number(pid), 0);
  } catch {
    return false;
  }
}

function skipped(language: Language, failed: string): Installed {
  return { folder: null, reason: `The client libraries for ${language} are not tried: ${failed}` };
}

/** Why it failed, in a line, or null. */
async function run([command, ...given]: Command, cwd: string): Promise<string | null> {
  try {
    await promisify(execFile)(command, given, { cwd, timeout: patienceMs });
    return null;
  } catch (error) {
    const {
      code,
      stdout = "",
      stderr = "",
    } = error as NodeJS.ErrnoException & Partial<Record<"stdout" | "stderr", string>>;
    if (code === "ENOENT") return `${command} is not here.`;
    const lines = `${stdout}\n${stderr}`.split("\n").filter((line) => line.trim() !== "");
    const said = lines.find((line) => /error|cannot|fail/i.test(line)) ?? lines.at(-1) ?? "nothing";
    return `${[command, ...given].join(" ")} failed: ${said}`;
  }
}
