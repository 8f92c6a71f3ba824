/**
 * Everything that there is to see, each by a place and a few steps, full and empty: for checks of
 * every view and for pictures.
 */

import type { Page } from "playwright-core";
import { audiencesPage } from "../pages/audiences.ts";
import { clientsPage } from "../pages/clients.ts";
import { composerPage } from "../pages/composer.ts";
import { deletionsPage } from "../pages/deletions.ts";
import { destinationsPage } from "../pages/destinations.ts";
import { endpointsPage } from "../pages/endpoints.ts";
import { flowPage } from "../pages/flow.ts";
import { framePage } from "../pages/frame.ts";
import { livePage } from "../pages/live.ts";
import { palettePage } from "../pages/palette.ts";
import { profilesPage } from "../pages/profiles.ts";
import { retriesPage } from "../pages/retries.ts";
import { scenariosPage } from "../pages/scenarios.ts";
import { sourcesPage } from "../pages/sources.ts";
import { welcomePage } from "../pages/welcome.ts";
import type { FilledWorkspace } from "./filled-workspace.ts";

export type Screen = {
  name: string;
  place: string;
  /** Resolves when it is there. */
  reach: (page: Page) => Promise<unknown>;
  /**
   * It is drawn with the elements of another one: it has its picture, and needs no check of its
   * own.
   */
  isAlike?: boolean;
};

/** By their names. */
const alike = new Set([
  ...["delivered", "cancelled", "expired"].map((state) => `message-${state}`),
  ...["retry-profiles", "configuration", "reset", "about"].map((section) => `settings-${section}`),
  "live-none",
  "attempt-http_error",
  "retries-failed",
]);

const heading = (name: string | RegExp) => (page: Page) =>
  page.getByRole("main").getByRole("heading", { name }).first().waitFor({ state: "attached" });
const escape = (page: Page): Promise<void> => page.keyboard.press("Escape");

export const emptyScreens: readonly Screen[] = [
  { name: "retries", place: "/retries", reach: heading("No delivery is waiting") },
  {
    name: "retries-expired",
    place: "/retries?state=expired",
    reach: heading("No delivery has expired"),
  },
  { name: "sources", place: "/sources", reach: heading("Create the first source") },
  { name: "refused", place: "/sources/refused", reach: heading("Refused requests") },
  { name: "destinations", place: "/destinations", reach: heading("Set up the first destination") },
  { name: "destination-new", place: "/destinations/new", reach: heading("New destination") },
  { name: "endpoints", place: "/endpoints", reach: heading("Create the first test endpoint") },
  { name: "settings", place: "/settings", reach: heading("Settings") },
  { name: "clients", place: "/clients", reach: heading("Watch a client library at work") },
  { name: "profiles", place: "/profiles", reach: heading("No profiles yet") },
  {
    name: "audiences",
    place: "/audiences",
    reach: heading("Notify receivers when users enter and leave"),
  },
  { name: "audience-new", place: "/audiences/new", reach: heading("New audience") },
  { name: "trait-new", place: "/audiences/traits/new", reach: heading("New computed trait") },
  { name: "deletions", place: "/deletions", reach: heading("Delete a user everywhere") },
  { name: "suppressed", place: "/deletions/suppressed", reach: heading("Suppressed users") },
  {
    name: "scenario",
    place: "/scenarios/outage.yaml",
    reach: (page) => scenariosPage(page).title.filter({ hasText: "An outage" }).waitFor(),
  },
  { name: "receivers", place: "/receivers", reach: heading("Is your receiver right?") },
  {
    name: "live-nothing",
    place: "/live?state=failed",
    reach: (page) => livePage(page).nothing.waitFor(),
  },
  // The last two, because they make the first source.
  {
    name: "flow",
    place: "/flow",
    reach: (page) => flowPage(page).sendSample.and(page.locator(":enabled")).waitFor(),
  },
  {
    name: "live",
    place: "/live",
    reach: (page) => welcomePage(page).sendSample.and(page.locator(":enabled")).waitFor(),
  },
];

export function fullScreens({
  messages,
  sourceId,
  destinationId,
  endpointId,
  behind,
  people,
}: FilledWorkspace): readonly Screen[] {
  const details = (page: Page): Promise<void> =>
    page.getByRole("region", { name: "Message details" }).getByRole("tabpanel").waitFor();
  const attempt = (page: Page): Promise<void> =>
    page.getByRole("region", { name: "Attempt", exact: true }).waitFor();
  const ofState = Object.entries(messages).map(([state, { id }]): Screen => ({
    name: `message-${state}`,
    place: `/live/${id}`,
    reach: details,
  }));
  const waiting = messages.waiting;
  const outcomes = new Map(
    Object.values(messages).flatMap((message) =>
      message.deliveries.flatMap((delivery) =>
        delivery.attempts.map(
          (each) => [each.outcome, `/live/${message.id}/attempts/${each.id}`] as const,
        ),
      ),
    ),
  );
  const screens: Screen[] = [
    { name: "live", place: "/live", reach: (page) => livePage(page).rows.first().waitFor() },
    {
      name: "live-filter",
      place: "/live?state=waiting,delivered&user=u_1042",
      reach: async (page) => {
        await livePage(page).filter.fill("e");
        await livePage(page).suggestion(/event/).first().waitFor();
      },
    },
    {
      name: "live-none",
      place: "/live?user=nobody",
      reach: (page) => livePage(page).nothing.waitFor(),
    },
    ...ofState,
    ...(["raw", "attempts", "signature"] as const).map((tab): Screen => ({
      name: `message-${tab}`,
      place: `/live/${waiting?.id}?tab=${tab}`,
      reach: details,
    })),
    ...[...outcomes].map(([outcome, place]): Screen => ({
      name: `attempt-${outcome}`,
      place,
      reach: attempt,
    })),
    {
      name: "flow",
      place: "/flow",
      reach: (page) => flowPage(page).map.getByRole("link").first().waitFor(),
    },
    {
      name: "flow-message",
      place: `/flow/${waiting?.id}`,
      reach: (page) => flowPage(page).hold.waitFor(),
    },
    {
      name: "flow-list",
      place: "/flow",
      reach: async (page) => {
        await flowPage(page).as("list").click();
        await flowPage(page).rows.first().waitFor();
      },
    },
    {
      name: "retries",
      place: "/retries",
      reach: (page) => retriesPage(page).rows.first().waitFor(),
    },
    {
      name: "retries-failed",
      place: "/retries?state=failed",
      reach: (page) => retriesPage(page).rows.first().waitFor(),
    },
    {
      name: "retry-all",
      place: "/retries",
      reach: async (page) => {
        await retriesPage(page).retryAll.click();
        await retriesPage(page)
          .title.filter({ hasText: /Retry \d/ })
          .waitFor();
      },
    },
    {
      name: "source",
      place: `/sources/${sourceId}`,
      reach: (page) => page.getByRole("textbox", { name: "Write key" }).waitFor(),
    },
    {
      name: "unknown-keys",
      place: "/sources/unknown-keys",
      reach: (page) => page.getByRole("form").first().waitFor(),
    },
    {
      name: "refused",
      place: "/sources/refused",
      reach: (page) => sourcesPage(page).refused("POST /t").waitFor(),
    },
    {
      name: "destination",
      place: `/destinations/${destinationId}`,
      reach: (page) => destinationsPage(page).deliveries.nth(1).waitFor(),
    },
    {
      name: "destination-new",
      place: "/destinations/new",
      reach: async (page) => {
        await destinationsPage(page).make.click();
        await destinationsPage(page).problems.first().waitFor();
      },
    },
    {
      name: "endpoint",
      place: `/endpoints/${endpointId}`,
      reach: (page) => endpointsPage(page).received.first().waitFor(),
    },
    {
      name: "endpoint-step",
      place: `/endpoints/${endpointId}`,
      reach: async (page) => {
        await endpointsPage(page).step(1).getByRole("button", { expanded: false }).last().click();
        await page.getByRole("textbox", { name: "Only for event" }).waitFor();
      },
    },
    {
      name: "endpoint-forward",
      place: `/endpoints/${behind.endpointId}`,
      reach: async (page) => {
        await endpointsPage(page).step(1).getByRole("button", { expanded: false }).last().click();
        await endpointsPage(page).cameBack.getByText("HTTP/1.1 200 OK").waitFor();
      },
    },
    {
      name: "destination-behind",
      place: `/destinations/${behind.destinationId}`,
      reach: async (page) => {
        await destinationsPage(page).undo.waitFor();
        await destinationsPage(page).moreOf(1).click();
        await destinationsPage(page).menuItem("Undo the fault in front of it").waitFor();
      },
    },
    ...["delivery", "retry-profiles", "configuration", "reset", "about"].map((section): Screen => ({
      name: `settings-${section}`,
      place: `/settings/${section}`,
      reach: heading("Settings"),
    })),
    {
      name: "profile",
      place: `/profiles/${people.profileId}`,
      reach: (page) => profilesPage(page).history.first().waitFor(),
    },
    {
      name: "audience",
      place: `/audiences/${people.audienceId}`,
      reach: async (page) => {
        await audiencesPage(page).sent.first().waitFor();
        await page.getByRole("list", { name: "Sample" }).getByRole("button").first().click();
        await page.getByLabel(/^Why /).last().waitFor();
      },
    },
    {
      name: "trait",
      place: `/audiences/traits/${people.traitId}`,
      reach: (page) => audiencesPage(page).sent.first().waitFor(),
    },
    {
      name: "audience-source",
      place: `/sources/${people.sourceId}`,
      reach: (page) => page.getByRole("link", { name: "Messages in Live" }).waitFor(),
    },
    {
      name: "deletion",
      place: `/deletions/${people.deletionId}`,
      reach: (page) =>
        page
          .getByRole("list", { name: /^Delete messages for/ })
          .getByText(/waiting|delivered/)
          .first()
          .waitFor(),
    },
    {
      name: "deletion-new",
      place: "/deletions/new?user=u_1042",
      reach: (page) => deletionsPage(page).known.first().waitFor(),
    },
    {
      name: "suppressed",
      place: "/deletions/suppressed",
      reach: (page) => deletionsPage(page).lift("u_gone").waitFor(),
    },
    {
      name: "scenario-passed",
      place: "/scenarios/one-of-three-down.yaml",
      reach: async (page) => {
        await scenariosPage(page).run.click();
        await scenariosPage(page).result.filter({ hasText: "passed" }).waitFor();
      },
    },
    {
      name: "scenario-failed",
      place: "/scenarios/outage.yaml",
      reach: async (page) => {
        const scenarios = scenariosPage(page);
        await scenarios.editCopy.click();
        await page.waitForFunction("location.hash.includes('own')");
        const text = await scenarios.text();
        await scenarios.file.fill(
          text
            .replace("name: An", "name: A failing")
            .replace("count: 20, state: delivered, within", "count: 21, state: delivered, within"),
        );
        await scenarios.run.click();
        await scenarios.result.filter({ hasText: "failed" }).waitFor();
        await page.locator("details.difference summary").first().click();
      },
    },
    {
      name: "scenario-problems",
      place: "/scenarios",
      reach: async (page) => {
        await scenariosPage(page)
          .entry(/outage/i)
          .first()
          .waitFor({ state: "attached" });
        await scenariosPage(page).chooser.setInputFiles({
          name: "mine.yaml",
          mimeType: "application/yaml",
          buffer: Buffer.from("name: With problems\nsteps:\n  - send: 3\n  - jump: 1\n"),
        });
        await scenariosPage(page).problems.first().waitFor();
      },
    },
    {
      name: "client",
      place: "/clients",
      reach: async (page) => {
        await clientsPage(page).batch(1).getByRole("button").click();
        await clientsPage(page).tries.first().waitFor();
      },
    },
    {
      name: "composer",
      place: "/live",
      reach: async (page) => {
        await livePage(page).rows.first().waitFor();
        await page.keyboard.press("n");
        await composerPage(page).snippet.waitFor();
      },
    },
    {
      name: "commands",
      place: "/live",
      reach: async (page) => {
        await palettePage(page).open();
        await palettePage(page).input.fill("cl");
      },
    },
    {
      name: "shortcuts",
      place: "/live",
      reach: async (page) => {
        await livePage(page).rows.first().waitFor();
        await page.keyboard.press("?");
        await palettePage(page).shortcuts.waitFor();
      },
    },
    {
      name: "menu",
      place: "/live",
      reach: async (page) => {
        await framePage(page).advanceMenu.click();
        await framePage(page).menuItem("Run until nothing is due").waitFor();
      },
    },
  ];
  return screens.map((screen) => ({ ...screen, isAlike: alike.has(screen.name) }));
}

/** Closes what the last one left open, and goes there. */
export async function show(page: Page, { place, reach }: Screen): Promise<void> {
  await escape(page);
  await page.evaluate(
    `document.activeElement?.blur(); location.hash = ${JSON.stringify(`#${place}`)}`,
  );
  await reach(page);
}
