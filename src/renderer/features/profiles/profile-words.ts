/** The texts of a profile. */

import type { AnswerOf } from "../../../contract/contract.ts";

export type Profile = AnswerOf<"profiles.list">["items"][number];
export type ProfileDetails = AnswerOf<"profiles.get">;

export function profileName({
  userId,
  anonymousId,
}: Pick<Profile, "userId" | "anonymousId">): string {
  return userId ?? anonymousId ?? "(no id)";
}

export const historyWords: Record<ProfileDetails["history"][number]["kind"], string> = {
  created: "first seen",
  identified: "identified",
  merged: "merged",
  moved: "moved",
};

const longestValue = 240;

/** A value as JSON on one line, cut where it would fill the page. */
export function valueText(value: unknown): string {
  const text = JSON.stringify(value) ?? "undefined";
  return text.length <= longestValue ? text : `${text.slice(0, longestValue)}…`;
}
