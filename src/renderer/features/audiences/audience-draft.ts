/** An audience while it is being made or changed: what is typed, what is wrong with it, and what is sent to the API. */

import type { AnswerOf, InputOf } from "../../../contract/contract.ts";
import type { Rule, Sync } from "../../../domain/rules.ts";
import { userIdsIn } from "../../kit/user-ids.ts";
import { draftStore } from "../../stores/drafts.ts";
import { call } from "../../transport/transport.ts";
import type { ComputedKind } from "./computed-kind.ts";
import { missingIn } from "./rule-draft.ts";

export type Audience = AnswerOf<"audiences.get">;

type AudienceDraft = {
  name: string;
  by: "rule" | "members";
  rule: Rule;
  /** As they are typed, a line each. */
  members: string;
  sync: Sync;
  destinationIds: string[];
};

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

export function missingInDraft({ by, rule, members }: AudienceDraft): string | null {
  if (by === "rule") return missingIn(rule);
  return userIdsIn(members).length === 0 ? "A fixed list needs a userId." : null;
}

export const audienceKind: ComputedKind<Audience, AudienceDraft> = {
  useDrafts: draftStore(),
  path: [],
  empty: emptyDraft,
  draftOf,
  changesOf,
  missingIn: missingInDraft,
  create: (draft) => call("audiences.create", changesOf(draft)),
  update: (id, draft) => call("audiences.update", { id, ...changesOf(draft) }),
  remove: (id) => call("audiences.delete", { id }),
};
