import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { OpenError } from "./app-errors.ts";
import { makeDataDirectory, rightsFaultsOf } from "./data-directory.ts";
import { openStore } from "./store/sqlite-store.ts";
import { readOrMakeToken } from "./headless/token.ts";
import { createAuthority } from "./engine/endpoints/authority.ts";

function temporary(): string {
  const path = mkdtempSync(join(tmpdir(), "hookyard-"));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

const hasModes = process.platform !== "win32";
const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8);
const modesIn = (directory: string): Record<string, string> =>
  Object.fromEntries(readdirSync(directory).map((name) => [name, modeOf(join(directory, name))]));

test("a directory is made with those above it, and one that is there is left", () => {
  const path = join(temporary(), "a", "b", "c");
  makeDataDirectory(path);
  makeDataDirectory(path);
  expect(existsSync(path)).toBe(true);
});

test.runIf(hasModes)("a link to something that does not exist is refused, with a sentence", () => {
  const data = join(temporary(), "data");
  symlinkSync(`${data}-away`, data);
  for (const path of [data, join(data, "below")]) {
    expect(() => makeDataDirectory(path)).toThrow(OpenError);
    expect(() => makeDataDirectory(path)).toThrow(
      `The data directory ${path} cannot be created: ${data} is a link to something that does not exist.`,
    );
  }
});

test.runIf(process.platform === "linux")("where none can be made, an error says so at once", () => {
  expect(() => makeDataDirectory("/proc/nowhere/data")).toThrow("ENOENT");
});

test.runIf(hasModes)(
  "a directory, and every file that a store, the token and the certificates make in it, is its owner's alone",
  () => {
    const data = join(temporary(), "data");
    const before = process.umask(0);
    onTestFinished(() => void process.umask(before));
    const store = openStore(data);
    readOrMakeToken(data);
    createAuthority({ dataDir: data }).authorityPem();
    expect(modeOf(data)).toBe("700");
    const { certificates, ...files } = modesIn(data);
    expect(Object.keys(files).toSorted()).toEqual([
      ...[
        "hookyard.db",
        "hookyard.db-shm",
        "hookyard.db-wal",
        "hookyard.lock",
        "hookyard.state",
        "token",
      ],
    ]);
    expect(new Set(Object.values(files))).toEqual(new Set(["600"]));
    expect(certificates).toBe("700");
    expect(new Set(Object.values(modesIn(join(data, "certificates"))))).toEqual(new Set(["600"]));
    store.close();
  },
);

test.runIf(hasModes)(
  "the rights of an older directory are taken from others, and files that are not Hookyard's stay as they are",
  () => {
    const data = join(temporary(), "data");
    mkdirSync(join(data, "certificates"), { recursive: true });
    for (const name of [
      "hookyard.db-wal",
      "hookyard.lock",
      "token",
      "certificates/authority.key.pem",
      "notes.sh",
    ])
      writeFileSync(join(data, name), "");
    for (const name of ["", ...readdirSync(data, { recursive: true, encoding: "utf8" })])
      chmodSync(join(data, name), 0o755);
    expect(rightsFaultsOf(data)).toHaveLength(6);
    makeDataDirectory(data);
    expect(modeOf(data)).toBe("700");
    expect(modesIn(data)).toMatchObject({
      "hookyard.db-wal": "600",
      token: "600",
      certificates: "700",
      "notes.sh": "755",
    });
    expect(rightsFaultsOf(data)).toEqual([]);
  },
);

test.runIf(process.geteuid?.() === 0)(
  "a directory of another user is refused, with a sentence",
  () => {
    const data = temporary();
    chownSync(data, 65_534, 65_534);
    expect(() => makeDataDirectory(data)).toThrow(/belongs to another user \(uid 65534\).*--data/);
  },
);

test.runIf(hasModes)("a directory that all users share is refused, and left as it is", () => {
  const data = temporary();
  chmodSync(data, 0o1777);
  expect(() => makeDataDirectory(data)).toThrow(/shared by all users/);
  expect(modeOf(data)).toBe("777");
});
