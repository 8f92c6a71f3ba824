/** An audience while it is being made or changed: what is typed, what is wrong with it, and what is sent to the API. */

import type { AnswerOf, InputOf } from "../../../contract/contract.ts";
import type { Rule, Sync } from "../../../domain/rules.ts";
import { snakeCase } from "../../../domain/snake-case.ts";
import { userIdsIn } from "../../kit/user-ids.ts";
import { missingIn } from "./rule-draft.ts";
import { draftStore } from "../../stores/drafts.ts";

export type Audience = AnswerOf<"audiences.get">;

export type AudienceDraft = {
  name: string;
  by: "rule" | "members";
  rule: Rule;
  /** As they are typed, a line each. */
  members: string;
  sync: Sync;
  destinationIds: string[];
};

/** The draft of the audience that does not exist yet. */
export const newAudience = "new";

export function emptyDraft(destinationIds: readonly string[]): AudienceDraft {
  return {
    name: "",
    by: "rule",
    rule: { all: [{ event: "", atLeast: 1 }] },
    members: "",
    sync: "each-event",
    destinationIds: [...destinationIds],
  };
}

export function draftOf({ name, rule, members, sync, destinationIds }: Audience): AudienceDraft {
  return {
    name,
    by: rule === null ? "members" : "rule",
    rule: rule ?? { all: [] },
    members: (members ?? []).join("\n"),
    sync,
    destinationIds: [...destinationIds],
  };
}

export function changesOf({ name, by, rule, members, sync, destinationIds }: AudienceDraft) {
  return {
    name,
    ...(by === "rule" ? { rule } : { members: userIdsIn(members) }),
    sync,
    destinationIds,
  } satisfies InputOf<"audiences.create">;
}

export function isChanged(draft: AudienceDraft, audience: Audience): boolean {
  return JSON.stringify(changesOf(draft)) !== JSON.stringify(changesOf(draftOf(audience)));
}

type Named = { id: string; name: string; key: string };

/** The trait that receivers get, and why it cannot be that. */
export function keyOf(name: string, ownId: string | null, others: readonly Named[]): { key: string; problem: string | null } {
  const key = snakeCase(name);
  if (name.trim() === "") return { key, problem: "It needs a name." };
  if (key === "") return { key, problem: "A name needs a letter or a digit, because its key is made of them." };
  const taken = others.find((other) => other.id !== ownId && other.key === key);
  return { key, problem: taken === undefined ? null : `The key ${key} is that of ${taken.name} already. Choose another name.` };
}

/** What stops it from being asked about and made, apart from the name. */
export function missingInDraft({ by, rule, members }: AudienceDraft): string | null {
  if (by === "rule") return missingIn(rule);
  return userIdsIn(members).length === 0 ? "A fixed list needs a userId." : null;
}

export const useAudienceDrafts = draftStore<AudienceDraft>();
