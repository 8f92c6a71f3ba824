/** Simulated clients: the queue, the calls, the batches, the setup, the log. */

import type { Page } from "playwright-core";

export function clientsPage(page: Page) {
  const list = page.getByRole("navigation", { name: "Clients", exact: true });
  const calls = page.getByRole("region", { name: "Calls", exact: true });
  const queue = page.getByRole("region", { name: "Queue", exact: true });
  return {
    list,
    makeFirst: page.getByRole("button", { name: "Create a client" }),
    client: (name: string) => page.getByRole("region", { name: `Client ${name}`, exact: true }),
    name: page.getByRole("textbox", { name: "Name", exact: true }),
    queue,
    flush: page.getByRole("button", { name: "Flush", exact: true }),
    flushAt: page.getByRole("textbox", { name: "Flush at" }),
    flushAfter: page.getByRole("textbox", { name: "Flush after" }),
    endpoint: page.getByRole("textbox", { name: "Endpoint" }),
    source: page
      .getByRole("region", { name: "Setup" })
      .getByRole("combobox", { name: "Source", exact: true }),
    type: (name: string) => calls.getByRole("radio", { name, exact: true }),
    body: calls.getByRole("textbox", { name: "The call" }),
    make: calls.getByRole("button", { name: "Queue call" }),
    problem: calls.getByRole("alert"),
    start: calls.getByRole("button", { name: "Start" }),
    howMany: calls.getByRole("textbox", { name: "Number of calls" }),
    pace: calls.getByRole("textbox", { name: "Calls per second" }),
    batch: (number: number) => page.getByRole("listitem", { name: `Batch ${number}`, exact: true }),
    tries: page.getByRole("list", { name: "Tries" }).getByRole("listitem"),
    sentCalls: page.getByRole("list", { name: "Calls", exact: true }).getByRole("link"),
    log: page.getByRole("list", { name: "Lines, newest first" }).getByRole("listitem"),
  };
}
