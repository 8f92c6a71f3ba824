/**
 * Loaded before the program of an npm script: ends it with one sentence when what is installed is not what the lock file names. Plain
 * JavaScript, because without the packages it is run by whatever Node runs npm.
 */

import { readFileSync } from "node:fs";

const root = new URL("../../", import.meta.url);
const read = (path) => JSON.parse(readFileSync(new URL(path, root), "utf8"));

function installedVersion(path) {
  try {
    return read(`${path}/package.json`).version;
  } catch {
    return null;
  }
}

const { packages } = read("package-lock.json");
const { dependencies, devDependencies } = packages[""];
for (const name of Object.keys({ ...dependencies, ...devDependencies })) {
  const path = `node_modules/${name}`;
  const { version } = packages[path];
  if (installedVersion(path) === version) continue;
  process.stderr.write(`Run npm ci first: Hookyard needs ${name} ${version}, which is not installed here.\n`);
  process.exit(1);
}
