import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { moveIn, outdatedIn } from "../launch/build.ts";
import { send } from "./control-port.fixture.ts";
import { createStaticPages } from "./static-pages.ts";

test("the pages stay those of the start when another build takes their place", async () => {
  const directory = mkdtempSync(join(tmpdir(), "hookyard-pages-"));
  const build = (hash: string): void => {
    const built = join(directory, "built");
    mkdirSync(join(built, "assets"), { recursive: true });
    writeFileSync(
      join(built, "index.html"),
      `<script src="./assets/index-${hash}.js"></script><link href="./assets/index-${hash}.css">`,
    );
    writeFileSync(join(built, "assets", `index-${hash}.js`), hash);
    writeFileSync(join(built, "assets", `index-${hash}.css`), hash);
    writeFileSync(join(built, `record-${hash}.js`), hash);
    moveIn(built, join(directory, "out"), "index.html");
  };
  build("AAAAAAA1");
  const pages = createStaticPages([join(directory, "out")]);
  build("BBBBBBB2");
  const server = createServer((request, response) => {
    const path = request.url ?? "";
    if (pages.has(path)) pages.answer(response, path);
    else response.writeHead(404).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const page = await send(url, "GET", "/");
  const assets = [...page.text.matchAll(/"\.(\/assets\/[^"]+)"/g)].map(([, path = ""]) => path);
  expect(assets).toHaveLength(2);
  // What has its hash in its name never changes; the page does with the next build.
  expect(page.headers["cache-control"]).toBe("no-store");
  for (const path of assets)
    expect(await send(url, "GET", path)).toMatchObject({
      status: 200,
      headers: { "cache-control": "max-age=31536000, immutable" },
    });
  // What the program that runs may import later; `npm pack` leaves it out.
  expect(existsSync(join(directory, "out", "record-AAAAAAA1.js"))).toBe(true);
  expect(outdatedIn(join(directory, "out"))).toContain("record-AAAAAAA1.js");
  await new Promise((resolve) => server.close(resolve));
  rmSync(directory, { recursive: true });
});
