import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { createApp } from "../app.ts";
import { applyAtStart, keptBeside, readConfigFile, configFile } from "./config-file.ts";

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
    file: "hookyard.config.ts",
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

test("a start says which credentials are missing and what is not in the file, and refuses what is wrong", async () => {
  const ports = { ingest: 0, endpoints: 0, endpointsTls: 0 };
  const app = createApp({ data: ":memory:", ports, version: "1.2.3" });
  onTestFinished(() => app.stop());
  await app.api.call("sources.create", { name: "By hand" });
  const said: string[] = [];
  const apply = (url: string) => {
    const webhooks = [{ url }];
    const document = { version: 1 as const, destinations: [{ name: "D", sources: [], webhooks }] };
    const config = { file: "a.yaml", document: document as never, environment: {} };
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
