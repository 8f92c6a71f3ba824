/** A list is filtered by how attempts ended, without a look at the attempts. */
export const outcomes = `
ALTER TABLE messages ADD COLUMN outcomes TEXT;
UPDATE messages SET outcomes = (
  SELECT group_concat(DISTINCT attempts.outcome || ':' || coalesce(attempts.status, ''))
  FROM deliveries JOIN attempts ON attempts.delivery_id = deliveries.id
  WHERE deliveries.message_id = messages.id
) WHERE attempts > 0;
`;
