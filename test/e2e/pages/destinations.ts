/** Destinations: set up in steps, and what became of their deliveries. */

import type { Page } from "playwright-core";

export function destinationsPage(page: Page) {
  const headersOf = (number: number) => {
    const group = page.getByRole("group", { name: `Headers of webhook ${number}` });
    return {
      add: group.getByRole("button", { name: "Add a header" }),
      name: (nth: number) =>
        group.getByRole("textbox", { name: `Name of header ${nth} of webhook ${number}` }),
      value: (nth: number) =>
        group.getByRole("textbox", { name: `Value of header ${nth} of webhook ${number}` }),
    };
  };
  const list = page.getByRole("navigation", { name: "Destinations", exact: true });
  return {
    list,
    entry: (name: string) => list.getByRole("link", { name }),
    setUpFirst: page.getByRole("button", { name: "Set up a destination" }),
    add: list.getByRole("button", { name: "New destination" }),
    fresh: page.getByRole("region", { name: "New destination" }),
    editor: (name: string) => page.getByRole("region", { name: `Destination ${name}` }),
    name: page.getByRole("textbox", { name: "Name", exact: true }),
    source: (name: string) => page.getByRole("checkbox", { name }),
    url: (number: number) => page.getByRole("textbox", { name: `URL of webhook ${number}` }),
    addWebhook: page.getByRole("button", { name: "Add a webhook" }),
    headersOf,
    chooseEndpoint: (number: number) =>
      page.getByRole("button", { name: `Choose a test endpoint for webhook ${number}` }),
    moreOf: (number: number) => page.getByRole("button", { name: `More for webhook ${number}` }),
    behind: (endpoint: string) => page.getByRole("link", { name: endpoint }),
    undo: page.getByRole("button", { name: "Undo", exact: true }),
    menuItem: (name: string) => page.getByRole("menuitem", { name }),
    secret: page.getByRole("textbox", { name: "Shared secret", exact: true }),
    make: page.getByRole("button", { name: "Create" }),
    save: page.getByRole("button", { name: "Save", exact: true }),
    problems: page.getByRole("alert"),
    show: (what: string) =>
      page.getByRole("radiogroup", { name: "Show" }).getByText(what, { exact: true }),
    filters: {
      add: page.getByRole("button", { name: "Add a filter" }),
      enable: (name: string) => page.getByRole("switch", { name: `Enable ${name}` }),
      action: (name: string) => page.getByRole("combobox", { name: `What ${name} does` }),
      condition: (name: string) => page.getByRole("textbox", { name: `Condition of ${name}` }),
      members: (name: string) => page.getByRole("textbox", { name: `Members of ${name}` }),
      previewed: page.getByRole("list", { name: "Messages in the preview" }),
    },
    test: {
      event: page.getByRole("textbox", { name: "The event" }),
      send: page.getByRole("button", { name: "Send a test event" }),
      result: page.getByRole("region", { name: "Result of the test" }),
    },
    funnel: {
      stages: page.getByRole("list", { name: "Stages" }),
      reasonsOf: (stage: string) => page.getByRole("list", { name: `Reasons of ${stage}` }),
      period: page.getByRole("combobox", { name: "Messages that were received in" }),
      sendAgain: page.getByRole("button", { name: "Send again", exact: true }),
    },
    deliveries: page.getByRole("table", { name: "Deliveries, newest first" }).getByRole("row"),
  };
}
