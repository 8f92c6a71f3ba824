import { resolve } from "node:path";
import { describe, expect, test } from "vitest";
import { defaultDataDirectory } from "./commands.ts";
import { isLoopback, parseServeFlags } from "./serve-flags.ts";

describe("the flags of serve", () => {
  test("default to the documented ports on loopback", () => {
    expect(parseServeFlags(["--data", ":memory:"])).toEqual({
      data: ":memory:",
      host: "127.0.0.1",
      ports: { ingest: 4700, ingestTls: null, ui: 4701, endpoints: 4702, endpointsTls: 4703 },
      config: undefined,
      traces: undefined,
      json: false,
      open: false,
      untilInputEnds: false,
    });
  });

  test("are read in both spellings", () => {
    const flags = [
      "--ingest-port=0",
      "--ingest-tls-port",
      "4",
      "--ui-port",
      "1",
      "--endpoints-port",
      "2",
      "--endpoints-tls-port",
      "3",
      "--json",
      "--open",
      "--host",
      "[::1]",
    ];
    expect(parseServeFlags(flags)).toMatchObject({
      ports: { ingest: 0, ingestTls: 4, ui: 1, endpoints: 2, endpointsTls: 3 },
      json: true,
      open: true,
      untilInputEnds: false,
      host: "::1",
    });
  });

  test.each([
    [["--ingest-port", "70000"], "--ingest-port needs a number"],
    [["--ingest-tls-port", ""], "--ingest-tls-port needs a number"],
    [["--ui-port", "x"], "--ui-port needs a number"],
    [["--ui-port="], "--ui-port needs a number"],
    [["--endpoints-port", "1.5"], "--endpoints-port needs a number"],
    [["--colour"], "--colour"],
    [["extra"], "extra"],
    [["--data"], "--data"],
    [["--data="], "--data needs a directory"],
    [["--host="], "--host needs an address"],
    [["--ui-port", "65536"], "--ui-port needs a number"],
    [["--json=yes"], "--json"],
    [["--traces", "x"], "such as http://127.0.0.1:4318"],
    [["--traces", "http://user:secret@127.0.0.1:4318"], "must not contain credentials"],
  ])("%j is refused in one line", (args, part) => {
    const answer = parseServeFlags(args);
    expect(answer).toEqual({ wrong: expect.stringContaining(part) });
    expect((answer as { wrong: string }).wrong).not.toContain("\n");
  });

  test("a port may be the highest there is, and a directory is read from where the command runs", () => {
    expect(
      parseServeFlags(["--ui-port", "65535", "--data", "kept", "--config", "c.json"]),
    ).toMatchObject({
      ports: { ui: 65_535 },
      data: resolve("kept"),
      config: "c.json",
    });
    expect(parseServeFlags([])).toMatchObject({ data: defaultDataDirectory() });
  });

  test("--help wins over what else is there", () => {
    expect(parseServeFlags(["--ui-port", "x", "--help"])).toBe("help");
  });
});

test.each([
  ["linux", {}, "/home/a/.local/share/hookyard"],
  ["linux", { XDG_DATA_HOME: "/data" }, "/data/hookyard"],
  ["linux", { XDG_DATA_HOME: "relative" }, "/home/a/.local/share/hookyard"],
  ["darwin", { XDG_DATA_HOME: "/data" }, "/home/a/Library/Application Support/Hookyard"],
  ["win32", {}, "/home/a/AppData/Roaming/Hookyard"],
  ["win32", { APPDATA: "" }, "/home/a/AppData/Roaming/Hookyard"],
  ["win32", { APPDATA: "/roaming" }, "/roaming/Hookyard"],
] as const)("on %s with %j the data is in %s", (platform, environment, expected) => {
  expect(defaultDataDirectory(platform, environment, () => "/home/a")).toBe(expected);
});

test.each([
  ["127.0.0.1", true],
  ["127.8.0.1", true],
  ["::1", true],
  ["localhost", true],
  ["hookyard.localhost", true],
  ["hookyard.localhost.evil.com", false],
  ["1127.0.0.1", false],
  ["0.0.0.0", false],
  ["192.168.0.2", false],
  ["127.evil.com", false],
])("%s is loopback: %s", (host, expected) => {
  expect(isLoopback(host)).toBe(expected);
});
