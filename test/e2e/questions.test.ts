/** The questions of `docs/finding-messages.md`, each typed as the page says. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import type { InputOf } from "../../src/contract/contract.ts";
import { root } from "../../src/launch/build.ts";
import { livePage } from "./pages/live.ts";
import { test } from "./support/inspector-test.ts";
import type { RunningInspector } from "./support/running-inspector.ts";

/** The users of the rows that answer, from the newest. */
const answers: readonly string[][] = [
  ["u_6"],
  ["u_2", "u_1"],
  ["u_7", "u_6"],
  ["u_2", "u_1", "u_0"],
  ["u_8"],
  ["u_7", "u_6"],
  ["u_7", "u_6", "u_8"],
  ["u_4", "u_4"],
  ["u_5"],
  ["u_5", "u_4", "u_4"],
  ["u_7", "u_6"],
  ["u_1"],
  ["u_1"],
  ["u_2", "u_1", "u_8", "u_0"],
  ["u_5", "u_4"],
  ["u_10"],
  ["u_9"],
  ["u_8"],
  ["u_3", "u_2", "u_1"],
  ["u_3"],
];

const event = "Order Completed";
const cart = "Cart Viewed";

/** Four sources, each with a destination of its own, on a clock that stands between the waves. */
async function fill({ call, send }: RunningInspector): Promise<void> {
  await call("clock.set", { mode: "paused" });
  const shop = async (
    name: string,
    destination: string,
    endpoint: string,
    steps: InputOf<"endpoints.create">["steps"],
  ): Promise<string> => {
    const { id } = await call("sources.create", { name, writeKey: endpoint });
    const { id: endpointId, url } = await call("endpoints.create", { name: endpoint, steps });
    await call("destinations.create", {
      name: destination,
      sourceIds: [id],
      webhooks: [{ url }],
    });
    return endpointId;
  };
  const outage = (times: number): InputOf<"endpoints.create">["steps"] => [
    { do: "answer", status: 503, times, match: { event } },
    { do: "answer" },
  ];
  const flaky = await shop("Shop web", "Billing", "flaky", outage(1));
  await shop("Shop app", "CRM sync", "steady", [{ do: "answer" }]);
  await shop("Shop server", "Ledger", "gone", [{ do: "answer", status: 410 }]);
  await shop("Shop kiosk", "Archive", "slow", [{ do: "hang" }]);

  const settle = () => call("pipeline.settle", {});
  const advance = (byMs: number) => call("clock.advance", { byMs });
  await send([{ userId: "u_0", event }], "flaky");
  await settle();
  await advance(20_000);
  await advance(600_000);
  await send([{ userId: "u_8", event }], "slow");
  await settle();
  await advance(8_000);
  await call("endpoints.update", { id: flaky, steps: outage(2) });
  await send(
    [
      { userId: "u_1", event, properties: { order: "A-20417", paid: "gift card" } },
      { userId: "u_2", event, properties: { paid: "gift card", note: "refund" } },
      { userId: "u_3", event: cart },
    ],
    "flaky",
  );
  await settle();
  await advance(20_000);
  await send(
    [
      { userId: "u_4", event },
      { type: "identify", userId: "u_4", traits: { plan: "pro" } },
      { type: "page", userId: "u_5", name: "Home" },
    ],
    "steady",
  );
  await settle();
  await send(
    [
      { userId: "u_6", event },
      { userId: "u_7", event: cart },
    ],
    "gone",
  );
  await settle();
  await send([{ userId: "u_10" }, { userId: "u_9", event, integrations: { All: false } }], "flaky");
  await settle();
}

/** Each with what stands in its backticks. */
const questions = [
  ...readFileSync(join(root, "docs", "finding-messages.md"), "utf8").matchAll(
    /^\| (?<question>[^|]+\?) +\| (?<keys>`\/`[^|]+)\|$/gm,
  ),
].map(({ groups }) => ({
  question: groups?.["question"] ?? "",
  keys: [...(groups?.["keys"] ?? "").matchAll(/`([^`]+)`/g)].map(([, key = ""]) => key),
}));

test("twenty questions are answered by the keys that the documentation says", async ({
  open,
  inspector,
}) => {
  await fill(inspector);
  const { page } = await open();
  const live = livePage(page);
  await expect.poll(() => live.count()).toBe(12);
  expect(questions).toHaveLength(answers.length);
  for (const [place, { question, keys }] of questions.entries()) {
    for (const key of keys) {
      if (key === "/" || key === "Enter") await page.keyboard.press(key);
      // Letter by letter where a name ends with one of them; a text at once costs a tenth.
      else if (place === 0) await page.keyboard.type(key);
      else await page.keyboard.insertText(key);
    }
    const users = answers[place] ?? [];
    const matches = users.length === 1 ? "1 message matches" : `${users.length} messages match`;
    const answer = async () => ({
      matches: await live.matching.locator("span").allTextContents(),
      users: await live.users(),
    });
    await expect.poll(answer, { message: question }).toEqual({ matches: [matches], users });
    await page.evaluate("location.hash = '#/live'");
    await expect.poll(() => live.count()).toBe(12);
    await page.keyboard.press("Escape");
    await page.keyboard.press("Escape");
  }
});

test("“not delivered” is offered as a state to leave out, while it is written and when nothing has the text", async ({
  open,
  inspector,
}) => {
  await inspector.shop();
  await inspector.send([{ userId: "u_1", event: "Order Completed" }, { type: "identify" }]);
  await inspector.call("pipeline.settle", {});
  const { page } = await open("/live?text=not+delivered");
  const live = livePage(page);
  await live.meant.click();
  await live.row(/rejected/).waitFor();
  await expect.poll(() => live.count()).toBe(1);
  await expect.poll(() => live.chip("-state").textContent()).toBe("-state:delivered");
  await page.keyboard.press("/");
  await page.keyboard.press("Backspace");
  await expect.poll(() => live.count()).toBe(2);
  await page.keyboard.type("not deliv");
  await live.suggestion(/-state: delivered/).waitFor();
  await page.keyboard.press("Tab");
  await expect.poll(() => live.count()).toBe(1);
  await expect.poll(() => live.filter.inputValue()).toBe("");
});
