/**
 * The last part of `npm run check`: says what nobody needs, what grew too long and what no page
 * explains, which lint does not see, and ends with 1.
 */

import { existsSync, globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { arrowFindings, rooms } from "./arrows.ts";
import { codeFindings } from "./codes.ts";
import { fidelityFindings } from "./fidelity.ts";
import { findingsIn } from "./findings.ts";
import { packageFindings } from "./packages.ts";
import { readSourceFile, sourceExtension } from "./source-file.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const read = (path: string): string => readFileSync(join(root, path), "utf8");

const paths = globSync(["src/**/*", "test/**/*", "*.config.ts"], { cwd: root }).map((path) =>
  path.replaceAll("\\", "/"),
);
const manifest = JSON.parse(read("package.json"));
const files = paths
  .filter((path) => sourceExtension.test(path))
  .map((path) => readSourceFile(path, read(path)));
const { optionalDependencies } = JSON.parse(read("resources/node/package.json"));
const findings = findingsIn({
  files,
  manifest,
  commandsOf(name) {
    const { bin = {} } = JSON.parse(read(`node_modules/${name}/package.json`));
    return typeof bin === "string" ? [name] : Object.keys(bin);
  },
  exceptions: JSON.parse(read("test/structure/exceptions.json")),
});
const program = paths
  .filter((path) => /^src\/(?!renderer\/features\/).*(?<!\.test|\.fixture)\.ts$/.test(path))
  .map((path) => ({ path, text: read(path) }));
/** What a page shows may still change, so a test asks until it is so. */
const readOnce = paths
  .filter((path) => /^test\/e2e\/.*\.test\.ts$/.test(path))
  .flatMap((path) =>
    [
      ...read(path).matchAll(
        /expect\(\s*await (?:(?!\)\.to)[^;])*?\.(?:textContent|innerText|inputValue|isChecked|isVisible|getAttribute|allTextContents)\([^()]*\),?\s*\)/g,
      ),
    ].map(([text]) => `${path}: reads the page once: ${text}: use expect.poll`),
  );
const all = [
  ...readOnce,
  ...findings,
  ...arrowFindings(files, rooms),
  ...codeFindings(program, read("docs/errors.md")),
  ...fidelityFindings({
    claims: read("docs/fidelity.md"),
    hosted: read("docs/hosted-service.md"),
    read: (path) => (existsSync(join(root, path)) ? read(path) : null),
  }),
  ...packageFindings(
    { ...manifest, optionalDependencies },
    read("docs/decisions/0012-dependencies.md"),
  ),
];
for (const finding of all.toSorted()) console.error(finding);
process.exitCode = all.length === 0 ? 0 : 1;
