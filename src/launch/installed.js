/**
 * Loaded before the program of an npm script: ends it with one sentence when what is installed is
 * not what the lock file names, or when Node is too old. Plain JavaScript, because without the
 * packages it is run by whatever Node runs npm.
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

function end(sentence) {
  process.stderr.write(`${sentence}\n`);
  process.exit(1);
}

const { packages } = read("package-lock.json");
const { dependencies, devDependencies, engines } = packages[""];
/** Node itself is a package for each platform, of which npm installs the one that fits. */
const { optionalDependencies } = packages["resources/node"] ?? {};
const fits = (name) => {
  const { os, cpu } = packages[`node_modules/${name}`];
  return String(os) === process.platform && String(cpu) === process.arch;
};
for (const name of [
  ...Object.keys({ ...dependencies, ...devDependencies }),
  ...Object.keys({ ...optionalDependencies }).filter(fits),
]) {
  const { version, link } = packages[`node_modules/${name}`];
  // A folder of the clone.
  if (link) continue;
  if (installedVersion(`node_modules/${name}`) !== version)
    end(`Run npm ci first: Hookyard needs ${name} ${version}, which is not installed here.`);
}
const oldest = Number.parseInt(engines.node.replace(">=", ""), 10);
if (Number.parseInt(process.versions.node, 10) < oldest) {
  const { platform, arch } = process;
  end(
    `Hookyard needs Node ${oldest} or newer, and no package brings it for ${platform} ${arch}: install it, because this is ${process.versions.node}.`,
  );
}
