/** How large a rule may be. Asked before anything else looks at it, so that nothing has to fear what is nested without end. */

/** Deep enough for any rule that a person can read. */
export const maxRuleDepth = 8;
/** A user of a large store is asked all of them. */
export const maxConditions = 50;

/**
 * What is wrong with the size of what may be a rule, as the rest of a sentence; null when nothing is. A condition by
 * itself has the depth 1; whether it is a condition at all is not asked here.
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

/** All that could be looked into, whether or not it may stand together. */
function partsOf(rule: unknown): readonly unknown[] | null {
  if (typeof rule !== "object" || rule === null) return null;
  const { all, any, not } = rule as Record<string, unknown>;
  const parts = [all, any].flatMap((list) => (Array.isArray(list) ? (list as unknown[]) : []));
  if (not !== undefined) parts.push(not);
  return all === undefined && any === undefined && not === undefined ? null : parts;
}
