/**
 * Source, type and state of the messages are kept in memory; their index cost two entries at every
 * change of a state.
 */
export const kindsInMemory = `
DROP INDEX messages_by_kind;
`;
