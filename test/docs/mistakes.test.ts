/** The page of mistakes: each is made, and the page has what the client and the inspector show. */

import { readFileSync } from "node:fs";
import { expect, test as base } from "vitest";
import { installed, languages, type Installed, type Language } from "../clients/installed.ts";
import { mistakes, rightKey } from "../clients/mistakes.ts";
import { hasCurl } from "../support/foreign-clients.ts";
import { type RunningApp, starting } from "../support/running-app.ts";

const test = base.extend("start", starting);
const page = readFileSync(new URL("../../docs/mistakes.md", import.meta.url), "utf8");

/** By the mistake: what the client prints, and what the inspector shows. */
const rows = new Map(
  [...page.matchAll(/^\| \d+ +\| (.*?) +\| (.*?) +\| (.*?) +\| (.*?) +\|$/gm)].map(
    ([, name = "", client = "", log = "", inspector = ""]) => [name, { client, log, inspector }],
  ),
);

const here = Object.fromEntries(
  await Promise.all(languages.map(async (language) => [language, await installed(language)])),
) as Record<Language, Installed>;
const folders = Object.fromEntries(
  languages.map((language) => [language, here[language].folder]),
) as Record<Language, string | null>;

const needed = new Set(mistakes.map(({ needs }) => needs));
for (const language of languages)
  if (needed.has(language) && here[language].reason !== null) console.log(here[language].reason);

test("the page has these mistakes, at least 25", () => {
  expect([...rows.keys()]).toEqual(mistakes.map(({ name }) => name));
  expect(rows.size).toBeGreaterThanOrEqual(25);
});

test.for(mistakes.map(({ name, needs, make }) => ({ name, needs, make })))(
  "$name",
  async ({ name, needs, make }, { start, skip }) => {
    if (needs === "curl" ? !hasCurl : needs !== null && here[needs].reason !== null)
      skip(`It needs ${needs}.`);
    const app = await start.app();
    await app.call("sources.create", { name: "Shop", writeKey: rightKey });
    const output = await make({ url: app.ingestUrl, folders });
    const { log, inspector } = rows.get(name) ?? expect.unreachable();
    const { host } = new URL(app.ingestUrl);
    const normal = output.replaceAll(host, "127.0.0.1:4700");
    if (log === "nothing") expect(normal.replace(`{"success":true}`, "")).toBe("");
    else expect(normal).toContain(/^`+ ?(.*?) ?`+$/.exec(log)?.[1] ?? log);
    expect(await shownBy(app)).toBe(inspector);
  },
);

/** Where the inspector shows it, in the words of the page. */
async function shownBy(app: RunningApp): Promise<string> {
  const shown: string[] = [];
  for (const { code } of (await app.call("refused.list", {})).items)
    shown.push(`Refused requests: \`${code}\``);
  for (const { writeKey } of (await app.call("unknownKeys.list", {})).items)
    shown.push(`Unknown write keys: \`${writeKey}\``);
  const { items } = await app.call("messages.list", {});
  for (const { state, reason, event, userId } of items.toReversed())
    shown.push(
      state === "rejected"
        ? `Live: \`rejected\`, \`${reason}\``
        : `Live: \`${event}\` of \`${userId}\`${state === "duplicate" ? ", `duplicate`" : ""}`,
    );
  return [...new Set(shown)].join("; ") || "nothing";
}
