import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { z } from "zod";
import { createApp } from "../app.ts";
import { applyAtStart, environmentWith, keptBeside, readConfigFile } from "./config-file.ts";
import { configFile } from "./read-config.ts";

function directoryWith(files: Record<string, string>): string {
  const path = mkdtempSync(join(tmpdir(), "hookyard-config-"));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(path, name), text);
  return path;
}

const read = (text: string, name = "hookyard.config.yaml", environment = {}) =>
  readConfigFile(name, { from: directoryWith({ [name]: text }), environment });

test("the published schema is that of the files that are read (npx vitest run src/headless/config-file --update writes it again)", async () => {
  const schema = z.toJSONSchema(configFile, { io: "input", target: "draft-7" });
  await expect(`${JSON.stringify(schema, null, 2)}\n`).toMatchFileSnapshot(
    "../../resources/config.schema.json",
  );
});

test("a file is found upwards, the nearest first", async () => {
  const top = directoryWith({ "hookyard.config.json": '{"sources":[{"name":"Top"}]}' });
  const deep = join(top, "a", "b");
  mkdirSync(deep, { recursive: true });
  expect(await readConfigFile(undefined, { from: deep })).toMatchObject({
    file: join(top, "hookyard.config.json"),
    document: { version: 1, sources: [{ name: "Top" }] },
  });
  writeFileSync(join(top, "a", "hookyard.config.yaml"), "sources: [{ name: Near }]");
  expect((await readConfigFile(undefined, { from: deep }))?.document.sources).toEqual([
    { name: "Near" },
  ]);
});

test("a program may make it, and ports are what the environment would say", async () => {
  const made = `const name: string = "Shop";
    export default async () => ({ ports: { ingest: 0, endpointsTls: 4803 }, sources: [{ name }] });`;
  expect(await read(made, "hookyard.config.ts")).toEqual({
    ...{ file: "hookyard.config.ts", placed: expect.any(Function) },
    document: { version: 1, sources: [{ name: "Shop" }] },
    environment: { HOOKYARD_INGEST_PORT: "0", HOOKYARD_ENDPOINTS_TLS_PORT: "4803" },
  });
});

test("secrets come from the environment", async () => {
  const text = `destinations:\n  - { name: A, sources: [], webhooks: [], sharedSecret: "\${SHOP_SECRET}" }`;
  const filled = await read(text, "hookyard.config.yaml", { SHOP_SECRET: "s3cret" });
  expect(filled?.document.destinations?.[0]?.sharedSecret).toBe("s3cret");
  await expect(read(text)).rejects.toThrow(
    /^hookyard\.config\.yaml:2:57 The variable SHOP_SECRET is not in the environment\.$/,
  );
});

test.each([
  ["source: []", "1:1 source is unknown. Did you mean sources?"],
  [
    "sources: { name: A }",
    '1:10 sources must be a list, but it is a mapping. Put "- " in front of its first line, or [ ] around it.',
  ],
  ["sources:\n  - { nme: A, name: A }", "2:7 nme is unknown. Did you mean name?"],
  ["ports: { ui: 70000 }", "1:14 ui must be a number from 0 to 65535, but it is 70000."],
  [
    "destinations:\n  - { name: A, sources: [], webhooks: [{}] }",
    "2:40 A webhook has either a url or an endpoint.",
  ],
  [
    "endpoints:\n  - { name: R, steps: [503x2] }",
    "2:24 steps[0] must be a mapping. Write { do: answer, status: 503, times: 2 }.",
  ],
  [
    'destinations:\n  - { name: A, sources: [], webhooks: ["http://127.0.0.1/"] }',
    "2:40 webhooks[0] must be a mapping. Write { url: URL }.",
  ],
  [
    "audiences:\n  - { name: A, rule: { trait: t, op: gt, value: 1 } }",
    "2:38 op must be is, isNot, contains, greater, less or exists.",
  ],
  [
    "audiences:\n  - { name: A, rule: { all: [] } }",
    "2:29 all must be a list of at least 1 value, but it is an empty list.",
  ],
  [
    "audiences:\n  - { name: A, rule: { event: e, atLeast: 0 } }",
    "2:43 atLeast must be at least 1, but it is 0.",
  ],
  // What is there may be a secret.
  [
    "destinations:\n  - { name: A, sources: [], webhooks: [], enabled: s3cret }",
    "2:52 enabled must be true or false.",
  ],
])("%j is refused at its place", async (text, problem) => {
  await expect(read(text)).rejects.toThrow(`hookyard.config.yaml:${problem}`);
});

test.each([
  ["", "hookyard.config.yaml", "hookyard.config.yaml cannot be read: it is empty."],
  ["export const a = 1;", "hookyard.config.ts", "it has no default export with the configuration."],
  [
    "export default { source: [] };",
    "hookyard.config.ts",
    "hookyard.config.ts: source is unknown.",
  ],
])("%j in %s is refused", async (text, name, problem) => {
  await expect(read(text, name)).rejects.toThrow(problem);
  await expect(readConfigFile("none.yaml", { from: "/" })).rejects.toThrow(
    "none.yaml was not found.",
  );
});

test.each([
  ["throw null;", " cannot be read: null."],
  ["throw 'no';", " cannot be read: no."],
  ["export default () => Promise.reject(undefined);", " cannot be read: undefined."],
  ["const a = {}; a.a = a; export default a;", " cannot be read: Converting circular structure"],
  ["\n\n  throw new Error('no');", ":3:9 cannot be read: no."],
])("a program that fails is refused: %s", async (text, problem) => {
  await expect(read(text, "hookyard.config.ts")).rejects.toThrow(`hookyard.config.ts${problem}`);
});

test("a program that is not there, and an empty name, are refused", async () => {
  const from = directoryWith({});
  for (const name of ["none.ts", "none.yaml"])
    await expect(readConfigFile(name, { from })).rejects.toThrow(`${name} was not found.`);
  await expect(readConfigFile("", { from })).rejects.toThrow("--config needs a file.");
});

test("what a program prints is not on standard output", async () => {
  const printed: string[] = [];
  const spies = (["stdout", "stderr"] as const).map((name) =>
    vi.spyOn(process[name], "write").mockImplementation((text) => {
      printed.push(`${name} ${String(text)}`);
      return true;
    }),
  );
  onTestFinished(() => spies.forEach((spy) => spy.mockRestore()));
  await read("process.stdout.write('noise'); export default {};", "hookyard.config.ts");
  expect(printed).toEqual(["stderr noise"]);
});

test("what Hookyard says of the document has the place that it means", async () => {
  const text = "sources: []\ndestinations:\n  - { name: A, sources: [None], webhooks: [] }\n";
  const config = await read(text);
  const placed = ["destinations[0]: no.", "sources: twice.", "Too many."].map(config!.placed);
  expect(placed).toEqual([
    "hookyard.config.yaml:3:5 destinations[0]: no.",
    "hookyard.config.yaml:1:10 sources: twice.",
    "hookyard.config.yaml: Too many.",
  ]);
});

test("an empty variable does not hide a port of the file", async () => {
  const config = await read("ports: { ui: 4801, ingest: 4800 }");
  vi.stubEnv("HOOKYARD_UI_PORT", "");
  vi.stubEnv("HOOKYARD_INGEST_PORT", "0");
  onTestFinished(() => void vi.unstubAllEnvs());
  expect(environmentWith(config)).toMatchObject({
    HOOKYARD_UI_PORT: "4801",
    HOOKYARD_INGEST_PORT: "0",
  });
});

test("the example of the documentation is read", async () => {
  const page = readFileSync(new URL("../../docs/configuration-file.md", import.meta.url), "utf8");
  const [, text = ""] = /```yaml\n([^]*?)```/.exec(page) ?? [];
  const found = await read(text, "hookyard.config.yaml", { ORDERS_SECRET: "s" });
  expect(found?.document.audiences).toHaveLength(1);
});

test("what is not in the file is named", () => {
  const present = {
    version: 1 as const,
    sources: [
      { name: "Shop", writeKey: "k" },
      { name: "By hand", writeKey: "h" },
    ],
    retryProfiles: [{ name: "quick" }],
  };
  const document = { version: 1 as const, sources: [{ name: "Renamed", writeKey: "k" }] };
  expect(keptBeside(document, present)).toEqual(["source By hand", "retry profile quick"]);
});

test("what has the name of an entry of the file, and is not what the entry means, is named too", () => {
  const webhooks = [{ url: "http://a.localhost/", headers: {} }];
  const orders = { name: "Orders", sources: [], webhooks };
  const steps = [{ do: "answer" as const, status: 200 }];
  const endpoint = { name: "Flaky", steps, after: "repeat-last" as const };
  const client = { name: "Phone", writeKey: "old" };
  const present = {
    version: 1 as const,
    sources: [
      { name: "Shop", writeKey: "old" },
      { name: "Shop", writeKey: "new" },
      { name: "App", writeKey: "made" },
    ],
    endpoints: [
      { ...endpoint, path: "flaky" },
      { ...endpoint, path: "moved" },
    ],
    destinations: [orders, orders],
    audiences: [
      { name: "Big", key: "bigger", members: [] },
      { name: "Big", key: "big", members: [] },
    ],
    clients: [client],
  };
  const document = {
    version: 1 as const,
    sources: [{ name: "Shop", writeKey: "new" }, { name: "App" }],
    endpoints: [{ ...endpoint, path: "moved" }],
    destinations: [orders],
    audiences: [{ name: "Big", members: [] }],
    clients: [{ ...client, writeKey: "new" }],
  };
  expect(keptBeside(document, present)).toEqual([
    "another source Shop",
    "another test endpoint Flaky",
    "another destination Orders",
    "another audience Big",
  ]);
});

test("a start says which credentials are missing and what is not in the file, and refuses what is wrong", async () => {
  const ports = { ingest: 0, endpoints: 0, endpointsTls: 0 };
  const app = createApp({ data: ":memory:", ports, version: "1.2.3" });
  onTestFinished(() => app.stop());
  await app.api.call("sources.create", { name: "By hand" });
  const said: string[] = [];
  const apply = (url: string) => {
    const webhooks = [{ url }];
    const document = { version: 1 as const, destinations: [{ name: "D", sources: [], webhooks }] };
    const read = { file: "a.yaml", document: document as never, environment: {} };
    const config = { ...read, placed: (message: string) => `a.yaml: ${message}` };
    return applyAtStart(config, app.api, (sentence) => said.push(sentence));
  };
  const kept = "Not in a.yaml, and kept: source By hand.";
  await apply("http://left-out:left-out@a.localhost/");
  expect(said.splice(0)).toEqual([
    expect.stringMatching(
      /^a\.yaml: a credential was left out, and Hookyard does not have it\. Enter it: D: .+\.$/,
    ),
    kept,
  ]);
  await apply("http://a.localhost/");
  expect(said.splice(0)).toEqual([kept]);
  await expect(apply("ftp://a.localhost/")).rejects.toThrow("a.yaml: destinations[0]");
  expect(said).toEqual([]);
});
