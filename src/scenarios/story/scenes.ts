/**
 * The scenes of a story. A step with a caption begins one, and the steps up to the next caption
 * belong to it: its expectations are what the caption may rely on.
 */

import { isObject } from "../../domain/json.ts";
import type { Scenario } from "../file/scenario-schema.ts";

export type Scene = {
  /** Of its steps: the first one, and the one after the last. */
  from: number;
  to: number;
  caption: string;
  why: string | null;
  open: string | null;
  highlight: string | null;
};

export function scenesOf({ steps }: Pick<Scenario, "steps">): Scene[] {
  const scenes: Scene[] = [];
  for (const [index, { caption, why, open, highlight }] of steps.entries()) {
    const last = scenes.at(-1);
    if (caption !== undefined)
      scenes.push({
        from: index,
        to: index + 1,
        caption,
        why: why ?? null,
        open: open ?? null,
        highlight: highlight ?? null,
      });
    else if (last !== undefined) last.to = index + 1;
  }
  return scenes;
}

export type StoryNames = Record<
  "audience" | "destination" | "endpoint" | "user",
  readonly string[]
>;

export function storyNames(scenario: Scenario): StoryNames {
  const users = new Set<string>();
  const audiences = new Set(Object.keys(scenario.audiences ?? {}));
  for (const step of scenario.steps) {
    if ("create" in step)
      for (const name of Object.keys(step.create.audiences ?? {})) audiences.add(name);
    if (!("send" in step)) continue;
    for (const user of step.users ?? []) users.add(user);
    for (const message of [step.send].flat())
      if (isObject(message as never) && typeof message["userId"] === "string")
        users.add(message["userId"]);
  }
  return {
    audience: [...audiences],
    destination: Object.keys(scenario.destinations ?? {}),
    endpoint: Object.keys(scenario.endpoints ?? {}),
    user: [...users],
  };
}

export const openable = [
  "live",
  "flow",
  "stage",
  "retries",
  "destinations",
  "endpoints",
  "profiles",
  "audiences",
  "deletions",
] as const;

/** `audiences/Big spenders` is the view and what is open in it. */
export function splitOpen(open: string): { view: string; name: string | null } {
  const slash = open.indexOf("/");
  return slash === -1
    ? { view: open, name: null }
    : { view: open.slice(0, slash), name: open.slice(slash + 1) };
}

/** A user, an audience and a destination, whose names have no slashes. */
const stageParts = ["user", "audience", "destination"] as const;

/** The first name that cannot be opened, and those that can; null when all is well. */
export function wrongToOpen(
  view: string,
  name: string | null,
  names: StoryNames,
  sources: readonly string[],
): { name: string; known: readonly string[] } | null {
  if (view === "stage") {
    const parts = (name ?? "").split("/");
    for (const [place, kind] of stageParts.entries()) {
      const part = parts[place] ?? "";
      if (!names[kind].includes(part)) return { name: part, known: names[kind] };
    }
    return null;
  }
  const known = namesToOpen(view, names, sources);
  return name === null || known === null || known.includes(name) ? null : { name, known };
}

/** What may be opened by name in a view; null where nothing is opened by name. */
function namesToOpen(
  view: string,
  { audience, destination, endpoint, user }: StoryNames,
  sources: readonly string[],
): readonly string[] | null {
  switch (view) {
    case "live":
      return [...sources, ...audience, ...user];
    case "profiles":
      return user;
    case "audiences":
      return audience;
    case "destinations":
      return destination;
    case "endpoints":
      return endpoint;
    default:
      return null;
  }
}
