/** What a check finds, and the rows that several of them look at. */

/** Something that must be true is not. */
export class Broken extends Error {
  readonly expected: unknown;
  readonly actual: unknown;

  constructor(sentence: string, expected: unknown, actual: unknown) {
    super(sentence);
    this.expected = expected;
    this.actual = actual;
  }
}

export type MessageRow = {
  id: number;
  message_id: string;
  source_id: number;
  type: number;
  state: number;
  user_id: string | null;
  anonymous_id: string | null;
  event: string | null;
  received_at: number;
  timestamp: number;
  reason: string | null;
  extra: string | null;
  pinned: number;
  /** Of the tracking plan: 1, or 0 for violations. */
  plan: number | null;
  raw: Buffer;
};

/** Of the column of this name. */
export type Extra = {
  duplicateOf?: number;
  replayOf?: number;
  computed?: boolean;
  violations?: { path: string }[];
  dropped?: string[][];
  blocked?: boolean;
};

export function expect(sentence: string, expected: unknown, actual: unknown): void {
  if (JSON.stringify(expected) !== JSON.stringify(actual))
    throw new Broken(sentence, expected, actual);
}
