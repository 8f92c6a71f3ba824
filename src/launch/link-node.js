/**
 * Runs after `npm ci`: links the command `node` of the package that holds Node, because npm 10 links
 * no commands of packages that only a folder of the clone (`resources/node`) names. Plain
 * JavaScript, because it is run by whatever Node runs npm.
 */

import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../", import.meta.url));
const read = (path) => JSON.parse(readFileSync(`${root}${path}/package.json`, "utf8"));

const isWindows = process.platform === "win32";
const command = `${root}node_modules/.bin/node${isWindows ? ".cmd" : ""}`;
const names = Object.keys(read("resources/node").optionalDependencies);
const name = names.find((one) => existsSync(`${root}node_modules/${one}/package.json`));
if (name !== undefined && !existsSync(command)) {
  // A link whose package is gone.
  rmSync(command, { force: true });
  const program = `${name}/${read(`node_modules/${name}`).bin.node}`;
  mkdirSync(`${root}node_modules/.bin`, { recursive: true });
  if (isWindows) writeFileSync(command, `@"%~dp0\\..\\${program.replaceAll("/", "\\")}" %*\r\n`);
  else symlinkSync(`../${program}`, command);
}
