/** Lets the event loop have a turn within a long piece of work. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
