/** Sources, the write keys that no source has, and refused requests. */

import type { Page } from "playwright-core";

export function sourcesPage(page: Page) {
  const list = page.getByRole("navigation", { name: "Sources", exact: true });
  const unknown = page.getByRole("region", { name: "Unknown write keys" });
  return {
    list,
    entry: (name: string) => list.getByRole("link", { name }),
    makeFirst: page.getByRole("button", { name: "Create a source" }),
    editor: (name: string) => page.getByRole("region", { name: `Source ${name}` }),
    name: page.getByRole("textbox", { name: "Name", exact: true }),
    writeKey: page.getByRole("textbox", { name: "Write key" }),
    unknown,
    unknownKey: (writeKey: string) =>
      unknown.getByRole("form", { name: `Unknown write key ${writeKey}` }),
    nameFor: (writeKey: string) =>
      unknown.getByRole("textbox", { name: `Name of the source for ${writeKey}` }),
    snippet: (kind: string) => page.getByLabel(`${kind} snippet`),
    refusedRequests: page.getByRole("region", { name: "Refused requests" }),
    refused: (what: string) =>
      page
        .getByRole("region", { name: "Refused requests" })
        .getByRole("listitem", { name: `${what} from` }),
    plan: {
      add: page.getByRole("button", { name: "Add a plan" }),
      form: page.getByRole("form", { name: "Plan" }),
      text: page.getByRole("textbox", { name: "Plan as JSON" }),
      use: page.getByRole("button", { name: "Use this plan" }),
      rules: page.getByRole("list", { name: "Rules of the plan" }),
      violating: page.getByRole("link", { name: "Messages that violate it" }),
      action: (label: string, value: string) =>
        page.getByRole("radiogroup", { name: label }).getByText(value, { exact: true }),
    },
    adopt: unknown.getByRole("button", { name: "Adopt" }).first(),
  };
}
