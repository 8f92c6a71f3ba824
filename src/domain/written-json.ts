/**
 * JSON whose numbers stay as they were written: `12345678901234567890`, `1.0`. `JSON.stringify`
 * writes them so.
 */

type WrittenNumber = { rawJSON: string };

/** TypeScript does not know them yet. */
const json = JSON as typeof JSON & {
  rawJSON(text: string): WrittenNumber;
  isRawJSON(value: unknown): value is WrittenNumber;
};

export const isWrittenNumber = (value: unknown): value is WrittenNumber => json.isRawJSON(value);

/** Throws like `JSON.parse`, and a `RangeError` for what is nested too deeply. */
export function parseAsWritten(text: string): unknown {
  return JSON.parse(text, ((_: string, value: unknown, { source }: { source?: string }) =>
    typeof value === "number" && source !== undefined ? json.rawJSON(source) : value) as Parameters<
    typeof JSON.parse
  >[1]);
}
