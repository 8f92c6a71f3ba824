import { spawnSync } from "node:child_process";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { root } from "./build.ts";

const program = "src/launch/installed.js";

/** A clone whose lock file names these packages, with those in it that are installed. */
function clone(
  locked: Record<string, string>,
  installed: Record<string, string>,
  others: object = {},
): string {
  const directory = mkdtempSync(join(tmpdir(), "hookyard-clone-"));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const write = (path: string, value: object) => {
    mkdirSync(dirname(join(directory, path)), { recursive: true });
    writeFileSync(join(directory, path), JSON.stringify(value));
  };
  const entries = Object.entries(locked).map(([name, version]) => [
    `node_modules/${name}`,
    { version },
  ]);
  const own = { dependencies: {}, devDependencies: locked, engines: { node: ">=24" } };
  write("package-lock.json", { packages: { "": own, ...Object.fromEntries(entries), ...others } });
  for (const [name, version] of Object.entries(installed))
    write(`node_modules/${name}/package.json`, { version });
  mkdirSync(dirname(join(directory, program)), { recursive: true });
  copyFileSync(join(root, program), join(directory, program));
  return directory;
}

test.each<[string, Record<string, string>, string]>([
  ["all is there", { "@a/a": "1.0.0", b: "2.0.0" }, ""],
  [
    "one is missing",
    { b: "2.0.0" },
    "Run npm ci first: Hookyard needs @a/a 1.0.0, which is not installed here.\n",
  ],
  [
    "one is of before a pull",
    { "@a/a": "1.0.0", b: "1.9.9" },
    "Run npm ci first: Hookyard needs b 2.0.0, which is not installed here.\n",
  ],
])("when %s", (_what, installed, sentence) => {
  const directory = clone({ "@a/a": "1.0.0", b: "2.0.0" }, installed);
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(directory, program)], {
    encoding: "utf8",
  });
  expect({ status, stdout, stderr }).toEqual({
    status: sentence === "" ? 0 : 1,
    stdout: "",
    stderr: sentence,
  });
});

describe("the package that holds Node", () => {
  const node = (os: string) => ({
    "": {
      dependencies: {},
      devDependencies: { "hookyard-node": "file:resources/node" },
      engines: { node: ">=24" },
    },
    "node_modules/hookyard-node": { resolved: "resources/node", link: true },
    "resources/node": { optionalDependencies: { "node-for-here": "24.1.0" } },
    "node_modules/node-for-here": { version: "24.1.0", os, cpu: process.arch },
  });
  const run = (directory: string) =>
    spawnSync(process.execPath, [join(directory, program)], { encoding: "utf8" }).stderr;

  test("must be there at its locked version, on the platform it is for", () => {
    const missing =
      "Run npm ci first: Hookyard needs node-for-here 24.1.0, which is not installed here.\n";
    expect(run(clone({}, {}, node(process.platform)))).toBe(missing);
    expect(run(clone({}, { "node-for-here": "24.0.0" }, node(process.platform)))).toBe(missing);
    expect(run(clone({}, { "node-for-here": "24.1.0" }, node(process.platform)))).toBe("");
    expect(run(clone({}, {}, node("aix")))).toBe("");
  });

  test("without one, an older Node is refused with one sentence", () => {
    const directory = clone({}, {}, node("aix"));
    const asOld = join(directory, "as-old.mjs");
    writeFileSync(
      asOld,
      `Object.defineProperty(process, "versions", { value: { ...process.versions, node: "20.20.2" } });\nawait import("./${program}");\n`,
    );
    const { status, stderr } = spawnSync(process.execPath, [asOld], { encoding: "utf8" });
    expect({ status, stderr }).toEqual({
      status: 1,
      stderr: `Hookyard needs Node 24 or newer, and no package brings it for ${process.platform} ${process.arch}: install it, because this is 20.20.2.\n`,
    });
  });
});

test("every script that needs the packages says so instead of a stack trace, in a clone without any", () => {
  const directory = clone({ vite: "8.0.0" }, {});
  copyFileSync(join(root, "package.json"), join(directory, "package.json"));
  for (const script of ["start", "serve", "dev", "build", "check", "test"]) {
    const { status, stderr } = spawnSync(`npm --silent run ${script}`, {
      cwd: directory,
      encoding: "utf8",
      shell: true,
    });
    expect({ script, status, stderr }).toEqual({
      script,
      status: 1,
      stderr: expect.stringMatching(/^Run npm ci first: .*\n$/),
    });
  }
});

describe("the command node", () => {
  const script = "src/launch/link-node.js";

  /** A clone with Node's package of a platform, after the script has run there as on that platform. */
  function linked(platform: string, name: string | null, bin: string): string {
    const directory = mkdtempSync(join(tmpdir(), "hookyard clone-"));
    onTestFinished(() => rmSync(directory, { recursive: true }));
    const write = (path: string, text: string): void => {
      mkdirSync(dirname(join(directory, path)), { recursive: true });
      writeFileSync(join(directory, path), text);
    };
    const optionalDependencies = { "node-other": "24.0.0", "node-here": "24.0.0" };
    write("resources/node/package.json", JSON.stringify({ optionalDependencies }));
    if (name !== null) {
      write(`node_modules/${name}/package.json`, JSON.stringify({ bin: { node: bin } }));
      write(`node_modules/${name}/${bin}`, "the program");
    }
    write(script, readFileSync(join(root, script), "utf8"));
    mkdirSync(join(directory, "node_modules", ".bin"), { recursive: true });
    symlinkSync("../gone/bin/node", join(directory, "node_modules", ".bin", "node"));
    const as = `Object.defineProperty(process, "platform", { value: "${platform}" });`;
    const preload = `data:text/javascript,${encodeURIComponent(as)}`;
    const ran = spawnSync(process.execPath, ["--import", preload, join(directory, script)]);
    expect({ status: ran.status, err: ran.stderr.toString() }).toEqual({ status: 0, err: "" });
    return join(directory, "node_modules", ".bin");
  }

  test.skipIf(process.platform === "win32")(
    "is a link to the program of the package that fits, also where an older one is gone",
    () => {
      const bin = linked("linux", "node-here", "bin/node");
      expect(readlinkSync(join(bin, "node"))).toBe("../node-here/bin/node");
      expect(readFileSync(join(bin, "node"), "utf8")).toBe("the program");
    },
  );

  test("is a batch file on Windows, whose path starts at its own directory", () => {
    const bin = linked("win32", "node-here", "bin/node.exe");
    expect(readFileSync(join(bin, "node.cmd"), "utf8")).toBe(
      `@"%~dp0\\..\\node-here\\bin\\node.exe" %*\r\n`,
    );
  });

  test("is left out where no package fits, and the script is in no published package", () => {
    expect(existsSync(join(linked("win32", null, ""), "node.cmd"))).toBe(false);
    const { files, scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
      files: string[];
      scripts: Record<string, string>;
    };
    expect(files.some((path) => path.startsWith("src"))).toBe(false);
    // npm runs neither of these for who installs a published package.
    expect(Object.keys(scripts).filter((name) => /^(pre|post)?install$/.test(name))).toEqual([]);
    expect(scripts["prepare"]).toBe(`node ${script}`);
  });
});
