/**
 * Whether a message meets the tracking plan of its source: 1, or 0 when it violates it; null without
 * a plan. What is wrong with it is in `extra`.
 */
export const plans = `
ALTER TABLE messages ADD COLUMN plan INTEGER;
`;
