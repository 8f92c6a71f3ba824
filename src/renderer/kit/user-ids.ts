/**
 * The users of a deletion request or of a list, as they are typed or pasted: one a line, or with
 * commas between. One in double quotes is read as JSON, and may contain commas.
 */

import { maxMessageBytes } from "../../domain/check.ts";

/** A text in quotes up to the next comma or line, or whatever else stands there. */
const part = /[^\S\n]*("(?:[^"\\\n]|\\.)*")[^\S\n]*(?=[,\n]|$)|[^,\n]+/g;

export function userIdsIn(text: string): string[] {
  const given = [...text.matchAll(part)]
    .map(([typed, quoted]) => (quoted && textIn(quoted)) ?? typed.trim())
    .filter((userId) => userId !== "");
  return [...new Set(given)];
}

/** Null when it is no JSON. */
function textIn(quoted: string): string | null {
  try {
    return JSON.parse(quoted) as string;
  } catch {
    return null;
  }
}

/** One userId as text: in quotes where it would be read as something else. */
export const userIdText = (userId: string): string =>
  userId === userId.trim() && !/^"|[,\r\n]/.test(userId) ? userId : JSON.stringify(userId);

const most = 5000;

/** A sentence about what cannot be asked for, or null. */
export function wrongUserIds(userIds: readonly string[]): string | null {
  if (userIds.length > most)
    return `One request accepts at most ${most} users, but the list has ${userIds.length}.`;
  const long = userIds.find((userId) => userId.length > maxMessageBytes);
  return long === undefined
    ? null
    : `A userId has at most ${maxMessageBytes} characters: "${long.slice(0, 40)}…" is longer.`;
}

/** `ana`, `ana and ben`, `ana and 4 more`. */
export function usersInWords(userIds: readonly string[], total = userIds.length): string {
  const [first = "", second] = userIds;
  if (total < 2) return first;
  return total === 2 && second !== undefined
    ? `${first} and ${second}`
    : `${first} and ${total - 1} more`;
}
