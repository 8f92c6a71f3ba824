import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { openInspector } from "./open-inspector.ts";
import { linkPath } from "./open-links.ts";

const token = "the-token";

/** Where a control port would be, which gives one link to whoever has the token. */
async function startControl(): Promise<string> {
  const server = createServer(({ method, url, headers }, response) => {
    const isAllowed = headers.authorization === `Bearer ${token}`;
    response.statusCode = method === "POST" && url === linkPath && isAllowed ? 200 : 404;
    response.end('{"path":"/open/once"}');
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** A launcher that is this script; none when left out. Returns the directory. */
function launcher(script?: string): string {
  const directory = mkdtempSync(join(tmpdir(), "hookyard-open-"));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  if (script !== undefined)
    writeFileSync(join(directory, "xdg-open"), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  vi.stubEnv("PATH", directory);
  onTestFinished(() => void vi.unstubAllEnvs());
  return directory;
}

async function opened(uiUrl: string, given = token): Promise<[boolean, string[]]> {
  const said: string[] = [];
  const { opened } = await openInspector({
    uiUrl,
    token: given,
    say: (sentence) => void said.push(sentence),
  });
  return [opened, said];
}

const toldWhere = (uiUrl: string, given = token): [boolean, string[]] => [
  false,
  [`The browser could not be opened. Open this address yourself: ${uiUrl}/#token=${given}`],
];

test.runIf(process.platform === "linux")("the browser gets a link without the token", async () => {
  const uiUrl = await startControl();
  const directory = launcher('printf %s "$1" > "${0%/*}/opened"');
  expect(await opened(uiUrl)).toEqual([true, []]);
  expect(readFileSync(join(directory, "opened"), "utf8")).toBe(`${uiUrl}/open/once`);
});

test.runIf(process.platform === "linux")(
  "where nothing can open the browser, or what opens it fails, the address is said",
  async () => {
    const uiUrl = await startControl();
    launcher();
    expect(await opened(uiUrl)).toEqual(toldWhere(uiUrl));
    launcher("exit 3");
    expect(await opened(uiUrl)).toEqual(toldWhere(uiUrl));
  },
);

test.runIf(process.platform === "linux")(
  "without a link, no browser is opened, and the address is said",
  async () => {
    const uiUrl = await startControl();
    const directory = launcher('printf %s "$1" > "${0%/*}/opened"');
    expect(await opened(uiUrl, "another")).toEqual(toldWhere(uiUrl, "another"));
    expect(await opened("http://127.0.0.1:1")).toEqual(toldWhere("http://127.0.0.1:1"));
    expect(existsSync(join(directory, "opened"))).toBe(false);
  },
);
