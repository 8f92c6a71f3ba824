/**
 * What a user can get wrong. A problem is a value that is answered, not thrown: a code for
 * programs, a sentence for people that says what to do, and the status that fits at an HTTP port.
 */

export type Problem = {
  readonly problem: true;
  readonly status: number;
  readonly code: string;
  readonly message: string;
  readonly data?: unknown;
};

export function problem(status: number, code: string, message: string, data?: unknown): Problem {
  return data === undefined
    ? { problem: true, status, code, message }
    : { problem: true, status, code, message, data };
}

export function isProblem(value: unknown): value is Problem {
  return (
    typeof value === "object" && value !== null && (value as { problem?: unknown }).problem === true
  );
}

export const notFound = (what: string, id: string): Problem =>
  problem(404, "not_found", `There is no ${what} ${id}. It may have been deleted.`);
export const invalid = (message: string, data?: unknown): Problem =>
  problem(400, "invalid", message, data);
export const conflict = (code: string, message: string): Problem => problem(409, code, message);
