import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { defaultDataDirectory } from "../headless/commands.ts";
import { parseAppFlags, placeOfData } from "./app-flags.ts";

test("without flags the data is where the commands look for it, and the ports are the usual ones", () => {
  const environment = { XDG_DATA_HOME: resolve("data"), APPDATA: resolve("data") };
  expect(parseAppFlags(["."], environment)).toEqual({
    data: defaultDataDirectory(process.platform, environment),
    isDataGiven: false,
    ports: { ingest: 4700, ingestTls: null, ui: 4701, endpoints: 4702, endpointsTls: 4703 },
    config: undefined,
    traces: undefined,
    share: null,
  });
});

test("a share file that was opened by a double click is an argument", () => {
  expect(parseAppFlags([".", "failure.hookyard"], {})).toMatchObject({
    share: resolve("failure.hookyard"),
  });
});

test("flags come before the environment", () => {
  const environment = {
    HOOKYARD_INGEST_PORT: "1",
    HOOKYARD_ENDPOINTS_TLS_PORT: "3",
    HOOKYARD_INGEST_TLS_PORT: "7",
    HOOKYARD_DATA: ":memory:",
  };
  expect(parseAppFlags([".", "--ingest-port", "0", "--data=some/where"], environment)).toEqual({
    data: resolve("some/where"),
    isDataGiven: true,
    ports: { ingest: 0, ingestTls: 7, ui: 4701, endpoints: 4702, endpointsTls: 3 },
    config: undefined,
    traces: undefined,
    share: null,
  });
  expect(parseAppFlags([], environment)).toMatchObject({ data: ":memory:", ports: { ingest: 1 } });
});

test("switches of Chromium pass", () => {
  expect(
    parseAppFlags(["--enable-logging", "--lang", "de", "--remote-debugging-port=0", "."], {}),
  ).toMatchObject({ data: defaultDataDirectory(process.platform, {}) });
});

test.each([
  [["--ingest-port", "70000"], "--ingest-port needs a number from 0 to 65535."],
  [["--ingest-tls-port="], "--ingest-tls-port needs a number from 0 to 65535."],
  [["--endpoints-port=a"], "--endpoints-port needs a number from 0 to 65535."],
  [["--endpoints-tls-port"], "--endpoints-tls-port needs a number from 0 to 65535."],
  [["--data"], "--data needs a directory, or :memory:."],
])("%j is refused in a sentence", (args, wrong) => {
  expect(parseAppFlags(args, {})).toEqual({ wrong });
});

test("data in the former place of the window stays there, unless a place is given or the usual one has data", () => {
  const directory = mkdtempSync(join(tmpdir(), "hookyard-places-"));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const [empty, former, usual] = ["empty", "former", "usual"].map((name) => join(directory, name));
  if (empty === undefined || former === undefined || usual === undefined) throw new Error("places");
  for (const place of [empty, former, usual]) mkdirSync(place);
  for (const place of [former, usual]) writeFileSync(join(place, "hookyard.db"), "");

  expect(placeOfData({ data: empty, isDataGiven: false }, former)).toBe(former);
  expect(placeOfData({ data: join(directory, "none"), isDataGiven: false }, former)).toBe(former);
  expect(placeOfData({ data: empty, isDataGiven: true }, former)).toBe(empty);
  expect(placeOfData({ data: ":memory:", isDataGiven: true }, former)).toBe(":memory:");
  expect(placeOfData({ data: usual, isDataGiven: false }, former)).toBe(usual);
  expect(placeOfData({ data: usual, isDataGiven: false }, empty)).toBe(usual);
  expect(placeOfData({ data: empty, isDataGiven: false }, join(directory, "none"))).toBe(empty);
});
