/** Whatever was thrown, as what has a sentence. */
export const errorOf = (raised: unknown): Error => (raised instanceof Error ? raised : new Error(String(raised)));
