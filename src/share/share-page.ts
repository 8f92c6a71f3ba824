import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { embeddedShareId } from "../contract/share-limits.ts";

/**
 * The inspector and the share file in one page that needs no Hookyard and no network. Its policy
 * allows its one script by its digest; the data is base64, so that nothing in it can be markup.
 */
export function sharePage(compressed: Uint8Array, directory: string): string {
  const index = readFileSync(join(directory, "index.html"), "utf8");
  const read = (pattern: RegExp): string => {
    const name = pattern.exec(index)?.[1];
    if (name === undefined) throw new Error("the inspector's page has no script or no style");
    return readFileSync(join(directory, name), "utf8");
  };
  const script = read(/<script[^>]* src="\.\/([^"]+)"/).replaceAll(/<\/(script)/gi, "<\\/$1");
  const style = read(/<link rel="stylesheet"[^>]* href="\.\/([^"]+)"/).replaceAll("</", "<\\/");
  const digest = createHash("sha256").update(script).digest("base64");
  const policy = `default-src 'none'; script-src 'sha256-${digest}'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'`;
  const data = Buffer.from(compressed).toString("base64");
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Hookyard, shared</title>
<link rel="icon" href="data:,">
<style>${style}</style>
</head>
<body>
<div id="root"></div>
<script type="application/gzip" id="${embeddedShareId}">${data}</script>
<script type="module">${script}</script>
</body>
</html>
`;
}
