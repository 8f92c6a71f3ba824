/**
 * Every link between the pages leads somewhere, headings included, and every page is in the index.
 */

import { existsSync, globSync, readFileSync } from "node:fs";
import { posix } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const root = fileURLToPath(new URL("../../", import.meta.url));
const pages = globSync(["*.md", "docs/**/*.md"], { cwd: root }).map((path) =>
  path.replaceAll("\\", "/"),
);

type Link = { from: string; target: string; anchor: string | undefined };

function linksOf(from: string): Link[] {
  const text = prose(readFileSync(root + from, "utf8"));
  const targets = [...text.matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, target = ""]) => target)
    .filter((target) => !/^\w+:/.test(target));
  return targets.map((target) => {
    const [path = "", anchor] = target.split("#");
    return { from, target: path === "" ? from : posix.join(posix.dirname(from), path), anchor };
  });
}

function prose(text: string): string {
  return text.replaceAll(/^```.*?^```$/gms, "");
}

/** As GitHub makes them. */
function anchorsOf(path: string): string[] {
  const headings = [...prose(readFileSync(root + path, "utf8")).matchAll(/^#+ (.+)$/gm)].map(
    ([, heading = ""]) => heading,
  );
  return headings.map((heading) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
      .replaceAll(" ", "-"),
  );
}

test("links lead to files that are there, and to headings that they have", () => {
  const links = pages.flatMap(linksOf);
  expect(links.length).toBeGreaterThan(50);
  const broken = links.filter(
    ({ target, anchor }) =>
      !existsSync(root + target) || (anchor !== undefined && !anchorsOf(target).includes(anchor)),
  );
  expect(broken).toEqual([]);
});

test("the index has every page but the decisions, which their folder lists", () => {
  const listed = new Set(linksOf("docs/README.md").map(({ target }) => target));
  const missing = pages.filter(
    (page) => !listed.has(page) && !page.startsWith("docs/decisions/") && page !== "docs/README.md",
  );
  expect(missing).toEqual([]);
});
