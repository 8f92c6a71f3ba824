/**
 * How the attempts at a message ended, each way once: the number of the outcome, a colon and the
 * status if there was one, with commas between them: `0:200,1:503,2:`. A list is filtered by them
 * without a look at the attempts.
 */
export const outcomes = `
ALTER TABLE messages ADD COLUMN outcomes TEXT;
UPDATE messages SET outcomes = (
  SELECT group_concat(DISTINCT attempts.outcome || ':' || coalesce(attempts.status, ''))
  FROM deliveries JOIN attempts ON attempts.delivery_id = deliveries.id
  WHERE deliveries.message_id = messages.id
) WHERE attempts > 0;
`;
