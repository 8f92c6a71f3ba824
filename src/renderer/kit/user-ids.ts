/**
 * The users of a deletion request, as they are typed or pasted: one a line, or with commas between.
 */

export function userIdsIn(text: string): string[] {
  const given = text
    .split(/[\n,]/)
    .map((userId) => userId.trim())
    .filter((userId) => userId !== "");
  return [...new Set(given)];
}

const most = 5000;
const longest = 1000;

/** A sentence about what cannot be asked for, or null. */
export function wrongUserIds(userIds: readonly string[]): string | null {
  if (userIds.length > most)
    return `One request accepts at most ${most} users, but the list has ${userIds.length}.`;
  const long = userIds.find((userId) => userId.length > longest);
  return long === undefined
    ? null
    : `A userId has at most ${longest} characters: "${long.slice(0, 40)}…" is longer.`;
}

/** `ana`, `ana and ben`, `ana and 4 more`. */
export function usersInWords(userIds: readonly string[], total = userIds.length): string {
  const [first = "", second] = userIds;
  if (total < 2) return first;
  return total === 2 && second !== undefined
    ? `${first} and ${second}`
    : `${first} and ${total - 1} more`;
}
