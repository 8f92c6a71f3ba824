/** Checks the size of a rule, before anything else reads it, so that no other code meets unlimited nesting. */

/** Deeper than any rule that a person can read. */
export const maxRuleDepth = 8;
/** Each is evaluated for every user of a large store. */
export const maxConditions = 50;

/**
 * What is wrong with the size of a possible rule, as the end of a sentence; null when nothing is. A single condition has
 * the depth 1; whether it is a valid condition is not checked here.
 */
export function checkRule(rule: unknown): string | null {
  let conditions = 0;
  let level: unknown[] = [rule];
  for (let depth = 1; level.length > 0; depth++) {
    if (depth > maxRuleDepth)
      return `it is nested more than ${maxRuleDepth} deep; join conditions by fewer \`all\`, \`any\` and \`not\` inside each other`;
    const below: unknown[] = [];
    for (const part of level) {
      const parts = partsOf(part);
      if (parts === null) conditions += 1;
      else for (const one of parts) below.push(one);
    }
    if (conditions + below.length > maxConditions) return `it has more than ${maxConditions} conditions; split it into several audiences`;
    level = below;
  }
  return null;
}

/** All nested parts, whether or not they may be combined. */
function partsOf(rule: unknown): readonly unknown[] | null {
  if (typeof rule !== "object" || rule === null) return null;
  const { all, any, not } = rule as Record<string, unknown>;
  const parts = [all, any].flatMap((list) => (Array.isArray(list) ? (list as unknown[]) : []));
  if (not !== undefined) parts.push(not);
  return all === undefined && any === undefined && not === undefined ? null : parts;
}
