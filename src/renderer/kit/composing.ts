/**
 * The key belongs to an input method that is composing a word: its Enter takes a suggestion, its
 * Escape refuses one. Safari sends the last one after the composition has ended, with the code 229.
 */
export const isComposing = (event: KeyboardEvent): boolean =>
  event.isComposing || event.keyCode === 229;
