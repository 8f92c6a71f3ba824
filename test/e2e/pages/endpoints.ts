/** Test endpoints: their programs and what they received. */

import type { Page } from "playwright-core";

export function endpointsPage(page: Page) {
  const list = page.getByRole("navigation", { name: "Test endpoints", exact: true });
  return {
    list,
    entry: (name: string) => list.getByRole("link", { name }),
    makeFirst: page.getByRole("button", { name: "Create one: 503 ×3 → 200" }),
    makeSteady: page.getByRole("button", { name: "Create one that always answers 200" }),
    add: list.getByRole("button", { name: "New test endpoint" }),
    editor: (name: string) => page.getByRole("region", { name: `Test endpoint ${name}` }),
    name: page.getByRole("textbox", { name: "Name", exact: true }),
    program: page.getByRole("textbox", { name: "Program as text" }),
    problem: page.getByRole("alert"),
    /** Each is named with its number and what it does. */
    step: (number: number) => page.getByRole("listitem", { name: new RegExp(`^Step ${number}: `) }),
    does: (number: number) => page.getByRole("combobox", { name: `What step ${number} does` }),
    status: (number: number) => page.getByRole("combobox", { name: `Status of step ${number}` }),
    more: (number: number) =>
      page.getByRole("button", { name: `More requests for step ${number}` }),
    addStep: page.getByRole("button", { name: "Add a step" }),
    move: (number: number) => page.getByRole("button", { name: `Move step ${number}` }),
    counts: (name: "all requests" | "each message") =>
      page.getByRole("radiogroup", { name: "Counts requests" }).getByRole("radio", { name }),
    address: page.getByRole("region", { name: "Addresses" }).locator("code").first(),
    newDestination: page.getByRole("button", { name: "Create a destination with this" }),
    presets: (group: string) => page.getByRole("group", { name: group }).getByRole("button"),
    /** A bead of the expected delivery. */
    bead: (text: string | RegExp) =>
      page
        .getByRole("region", { name: "Expected delivery" })
        .getByRole("listitem")
        .filter({ hasText: text }),
    setBack: page.getByRole("button", { name: "Rewind to step 1" }),
    received: page
      .getByRole("grid", { name: "Received requests, newest first" })
      .locator("[data-request]"),
    sentOn: page.getByRole("region", { name: "Sent to the receiver" }),
    cameBack: page.getByRole("region", { name: "Answer of the receiver" }),
    receivedBytes: page.getByRole("group", { name: "Bytes of the request" }),
  };
}
