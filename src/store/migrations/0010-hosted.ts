/** Retry profiles from before they had `honourRetryAfter`. */
export const hosted = `
  UPDATE retry_profiles SET body = json_set(body, '$.honourRetryAfter', json('false'));
`;
