/**
 * A receiver's own digest or body beside what was sent: why they differ, and the bytes at the first
 * difference. Pure.
 */

import { differingAspects, spellings } from "../../../domain/json-spellings.ts";
import type { Json } from "../../../domain/json.ts";
import {
  explainMismatch,
  firstDifference,
  type MismatchExplanation,
} from "../../../domain/signature-mismatch.ts";
import { sign, signatureKey } from "../../../domain/signature.ts";
import { utf8Bytes, utf8Text } from "../../../domain/utf8.ts";

type Question = {
  /** All that was sent. */
  body: Uint8Array;
  /** The part of it that is signed, when that is not all. */
  signed?: Uint8Array | undefined;
  secret: string;
  expected: string;
  digest: string;
  receiverBody: string;
};

export type Comparison = {
  explanation: MismatchExplanation;
  /** The body that the receiver signs, when it is known. */
  theirs: Uint8Array | null;
  /** Which of `tried` it was. */
  hits: ReadonlySet<string>;
};

/** What is looked for, as the inspector lists it. */
export const tried: readonly { cause: string; words: string }[] = [
  { cause: "key_order", words: "key order" },
  { cause: "spaces", words: "spaces" },
  { cause: "escaped_non_ascii", words: "escaped non-ASCII" },
  { cause: "escaped_html", words: "escaped <" },
  { cause: "escaped_slash", words: "escaped /" },
  { cause: "number_spelling", words: "number spelling" },
  { cause: "trailing_newline", words: "trailing newline" },
  { cause: "wrong_secret", words: "wrong secret" },
  { cause: "not_hmac", words: "no HMAC" },
  { cause: "sha256", words: "SHA-256" },
  { cause: "base64", words: "base64" },
  { cause: "upper_case", words: "upper case" },
];

/** Null while nothing has been given. */
export function compareWithReceiver({
  body,
  signed,
  secret,
  expected,
  digest,
  receiverBody,
}: Question): Comparison | null {
  const ours = signed ?? body;
  const receiverDigest = digest.trim();
  if (receiverDigest === "" && receiverBody === "") return null;
  const given = receiverBody === "" ? null : utf8Bytes(receiverBody);
  const explanation = explainMismatch({
    body,
    ...(signed === undefined ? {} : { signed }),
    secret,
    expected,
    ...(receiverDigest === "" ? {} : { receiverDigest }),
    ...(given === null ? {} : { receiverBody: given }),
  });
  const found =
    given === null && explanation.firstDifference !== null
      ? respelled(ours, secret, receiverDigest, explanation.firstDifference.offset)
      : null;
  const theirs = given ?? found;
  return { explanation, theirs, hits: new Set([explanation.cause, ...aspectsOf(ours, theirs)]) };
}

/** The body in the spelling that results in the receiver's digest. */
function respelled(
  body: Uint8Array,
  secret: string,
  digest: string,
  differsAt: number,
): Uint8Array | null {
  const text = utf8Text(body);
  if (text === null) return null;
  const key = signatureKey(secret);
  const wanted = digest.toLowerCase().replace(/^(?:hmac-)?sha-?1[=:]/, "");
  for (const spelling of spellings(JSON.parse(text) as Json)) {
    const bytes = utf8Bytes(spelling.text);
    if (firstDifference(body, bytes)?.offset === differsAt && sign(key, bytes) === wanted)
      return bytes;
  }
  return null;
}

function aspectsOf(ours: Uint8Array, theirs: Uint8Array | null): readonly string[] {
  if (theirs === null) return [];
  try {
    return differingAspects(utf8Text(ours) ?? "", utf8Text(theirs) ?? "") ?? [];
  } catch {
    return [];
  }
}

export type Excerpt = {
  from: number;
  bytes: Uint8Array;
  /** The bytes that differ, as places in `bytes`. */ start: number;
  end: number;
};

const before = 4;
const shown = 11;
/** So many equal bytes end a difference, which is no longer than this. */
const equalBytes = 2;
const longest = 12;

/** A dozen bytes of both around their first difference. */
export function excerpts(
  ours: Uint8Array,
  theirs: Uint8Array,
): { ours: Excerpt; theirs: Excerpt } | null {
  const difference = firstDifference(ours, theirs);
  if (difference === null) return null;
  const { offset } = difference;
  const [mine, other] = lengths(ours, theirs, offset);
  const from = Math.max(0, offset - before);
  const excerpt = (bytes: Uint8Array, length: number): Excerpt => ({
    from,
    bytes: bytes.subarray(from, from + shown),
    start: offset - from,
    end: Math.min(offset - from + length, Math.max(0, bytes.length - from), shown),
  });
  return { ours: excerpt(ours, mine), theirs: excerpt(theirs, other) };
}

/**
 * How many bytes of each stand for the same thing: the shortest pair after which both go on alike.
 */
function lengths(ours: Uint8Array, theirs: Uint8Array, offset: number): [number, number] {
  for (let sum = 1; sum <= 2 * longest; sum++) {
    for (let mine = Math.max(0, sum - longest); mine <= Math.min(sum, longest); mine++) {
      const other = sum - mine;
      if (goOnAlike(ours, offset + mine, theirs, offset + other)) return [mine, other];
    }
  }
  return [1, 1];
}

function goOnAlike(ours: Uint8Array, at: number, theirs: Uint8Array, otherAt: number): boolean {
  if (
    ours.length - at !== theirs.length - otherAt &&
    (ours.length - at < equalBytes || theirs.length - otherAt < equalBytes)
  )
    return false;
  for (let ahead = 0; ahead < equalBytes; ahead++) {
    if (ours[at + ahead] !== theirs[otherAt + ahead]) return false;
  }
  return true;
}

/** What a receiver can write where it cannot sign the bytes as they came. */
export function workaround(hits: ReadonlySet<string>): { language: string; code: string } | null {
  if (hits.has("escaped_html")) return { language: "Go", code: "encoder.SetEscapeHTML(false)" };
  if (hits.has("escaped_slash"))
    return {
      language: "PHP",
      code: "json_encode($message,\n            JSON_UNESCAPED_SLASHES | JSON_UNESCAPED_UNICODE)",
    };
  if (hits.has("escaped_non_ascii") || hits.has("spaces"))
    return {
      language: "Python",
      code: 'json.dumps(message, ensure_ascii=False,\n           separators=(",", ":"))',
    };
  if (hits.has("trailing_newline")) return { language: "Go", code: 'bytes.TrimRight(body, "\\n")' };
  return null;
}
