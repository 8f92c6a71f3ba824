/**
 * Finds out why a receiver computes another signature than `X-Signature` says, from its own digest,
 * from the body as it serialised it again, or from both.
 */

import { hex, hmac, hmacKey } from "./hash.ts";
import type { Json } from "./json.ts";
import { type Aspect, differingAspects, spellings } from "./json-spellings.ts";
import { sha1, sha1Hash } from "./sha1.ts";
import { sha256Hash } from "./sha256.ts";
import { sign, signatureKey } from "./signature.ts";
import { utf8Bytes, utf8Text } from "./utf8.ts";

type MismatchQuestion = {
  /** The bytes that were sent. */
  body: Uint8Array;
  /** Those of them that are signed, when that is not all: of a batch its first element. */
  signed?: Uint8Array;
  secret: string;
  /** The value of `X-Signature` that was sent. */
  expected: string;
  receiverDigest?: string;
  receiverBody?: Uint8Array;
};

type Difference = { offset: number; ours: number | null; theirs: number | null };

export type MismatchExplanation = {
  /**
   * `none`, an aspect of spelling (`key_order`, `spaces` …), `sha256`, `base64`, `wrong_secret` and
   * so on.
   */
  cause: string;
  sentence: string;
  firstDifference: Difference | null;
};

const sentences: Record<Aspect, string> = {
  key_order: "has its members in another order, as maps and options like sort_keys leave them",
  spaces:
    "has spaces or line breaks between its members, as Python's json.dumps and pretty-printers write them",
  escaped_non_ascii: "writes characters outside ASCII as \\uXXXX, as Python and PHP do by default",
  escaped_html: "writes <, > and & as \\u003c, \\u003e and \\u0026, as Go's encoding/json does",
  escaped_slash: "writes / as \\/, as PHP's json_encode does",
  number_spelling:
    "formats numbers differently, as libraries do that parse them into floating-point types",
  trailing_newline: "ends with a line break, as Go's json.Encoder and echo write it",
};
const advice = "Compute the digest over the bytes as received, before anything parses them.";

export function explainMismatch(question: MismatchQuestion): MismatchExplanation {
  return ended(explaining(question));
}

function ended<Value>(steps: Generator<number, Value>): Value {
  let step = steps.next();
  while (step.done !== true) step = steps.next();
  return step.value;
}

/**
 * The same in steps, for callers that others wait for: hundreds of spellings of the body are tried.
 * Yields the characters of each.
 */
export function* explaining(question: MismatchQuestion): Generator<number, MismatchExplanation> {
  const { secret, receiverBody } = question;
  const body = question.signed ?? question.body;
  const expected = question.expected.trim().toLowerCase();
  const given = question.receiverDigest?.trim();
  if (sign(signatureKey(secret), body) !== expected) {
    return plain(
      "wrong_secret",
      "`X-Signature` was not made with this secret: the destination's secret has changed since this attempt was signed.",
    );
  }
  if (question.signed !== undefined && coversAll(question, given)) {
    return plain(
      "whole_batch",
      `The receiver computes the digest over the whole body. Of a batch the signature covers the first element only: the ${body.length} bytes after the opening bracket, of ${question.body.length}.`,
    );
  }
  const difference = receiverBody === undefined ? null : firstDifference(body, receiverBody);
  if (receiverBody !== undefined && difference !== null) {
    const { cause, sentence } = explainBody(body, receiverBody);
    const besides =
      given === undefined ? null : ended(explainDigest(receiverBody, secret, given, true));
    return {
      cause,
      sentence:
        besides === null || besides.cause === "none"
          ? sentence
          : `${sentence} Besides: ${besides.sentence}`,
      firstDifference: difference,
    };
  }
  if (given === undefined || given === expected)
    return plain(
      "none",
      "There is no difference: the signatures and the bodies given here are the same.",
    );
  return yield* explainDigest(body, secret, given, receiverBody !== undefined);
}

/** Whether the receiver took the whole body of a batch. */
function coversAll({ body, secret, receiverBody }: MismatchQuestion, given?: string): boolean {
  if (receiverBody !== undefined && firstDifference(body, receiverBody) === null) return true;
  if (given === undefined) return false;
  return ended(explainDigest(body, secret, given, true)).cause === "none";
}

function plain(cause: string, sentence: string): MismatchExplanation {
  return { cause, sentence, firstDifference: null };
}

export function firstDifference(ours: Uint8Array, theirs: Uint8Array): Difference | null {
  const length = Math.max(ours.length, theirs.length);
  for (let offset = 0; offset < length; offset++) {
    if (ours[offset] !== theirs[offset])
      return { offset, ours: ours[offset] ?? null, theirs: theirs[offset] ?? null };
  }
  return null;
}

// Their body beside ours.

function explainBody(ours: Uint8Array, theirs: Uint8Array): { cause: string; sentence: string } {
  if (theirs.length === 0)
    return {
      cause: "empty_body",
      sentence: `The receiver's body is empty: something has already read it. ${advice}`,
    };
  const ourText = utf8Text(ours);
  const theirText = utf8Text(theirs);
  const asLatin1 = utf8Bytes(Array.from(ours, (byte) => String.fromCharCode(byte)).join(""));
  if (theirText === null || firstDifference(asLatin1, theirs) === null) {
    return {
      cause: "encoding",
      sentence: `The receiver's body is not the UTF-8 that was sent: it was read or written as another encoding, such as Latin-1. ${advice}`,
    };
  }
  if (theirText.startsWith("\uFEFF"))
    return {
      cause: "byte_order_mark",
      sentence: `The receiver's body begins with a byte order mark, which was not sent. ${advice}`,
    };
  if (ourText?.startsWith(theirText) === true) {
    return {
      cause: "cut_short",
      sentence: `The receiver's body is cut short: it has the first ${theirs.length} of ${ours.length} bytes. Read the whole body first.`,
    };
  }
  const parsed = parse(theirText);
  if (parsed === undefined || ourText === null || parse(ourText) === undefined) {
    return {
      cause: "not_json",
      sentence: `The receiver's body is not the JSON that was sent. ${advice}`,
    };
  }
  if (parsed === ourText) {
    return {
      cause: "double_encoded",
      sentence: `The receiver's body is a JSON string that holds the body: it was serialised twice. ${advice}`,
    };
  }
  const found = differingAspects(ourText, theirText);
  if (found === null)
    return {
      cause: "content",
      sentence:
        "The receiver's body has other content: members were added, removed or changed before the digest was computed.",
    };
  if (found.length === 0)
    return {
      cause: "escapes",
      sentence: `The receiver's body escapes some characters differently. ${advice}`,
    };
  return { cause: found[0] as Aspect, sentence: describe(found) };
}

function describe(found: Aspect[]): string {
  return `The receiver computes the digest over a body that it serialised again, which ${found.map((aspect) => sentences[aspect]).join("; and which ")}. ${advice}`;
}

function parse(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}

// Their digest beside ours.

type ReadDigest = { hex: string; form: "hex" | "base64" | "upper_case" | "prefix" };

const forms: Record<Exclude<ReadDigest["form"], "hex">, string> = {
  base64: "the digest is written in Base64, where `X-Signature` is lower-case hexadecimal",
  upper_case: "the digest is written in upper case, where `X-Signature` is lower-case hexadecimal",
  prefix: "the digest starts with the name of its algorithm, which `X-Signature` does not",
};

function* explainDigest(
  body: Uint8Array,
  secret: string,
  given: string,
  bodyIsKnown: boolean,
): Generator<number, MismatchExplanation> {
  const digest = readDigest(given);
  if (digest === null)
    return plain(
      "not_a_digest",
      "The receiver's value is neither a SHA-1 nor a SHA-256 digest, in hexadecimal or Base64.",
    );
  const sha256 = digest.hex.length === 64;
  const parts = [
    ...(sha256 ? ["the digest is HMAC-SHA256, where `X-Signature` is HMAC-SHA1"] : []),
    ...(digest.form === "hex" ? [] : [forms[digest.form]]),
  ];
  const cause = sha256 ? "sha256" : digest.form;
  const sum = (key: Uint8Array, bytes: Uint8Array): string =>
    hex(hmac(hmacKey(sha256 ? sha256Hash : sha1Hash, key), bytes));

  const key = utf8Bytes(secret);
  if (sum(key, body) === digest.hex) {
    return parts.length === 0
      ? plain("none", "There is no difference: the digests are the same.")
      : plain(cause, sentenceOf(parts));
  }
  const secretFault = wrongSecrets(secret).find(([bytes]) => sum(bytes, body) === digest.hex);
  if (secretFault !== undefined)
    return plain(
      parts.length === 0 ? "wrong_secret" : cause,
      sentenceOf([...parts, secretFault[1]]),
    );
  const unkeyed = [body, join(key, body), join(body, key)].some(
    (bytes) => !sha256 && hex(sha1(bytes)) === digest.hex,
  );
  if (unkeyed)
    return plain(
      "not_hmac",
      "The receiver computes a plain SHA-1, where `X-Signature` is HMAC-SHA1 keyed with the shared secret. Use the HMAC function.",
    );

  if (!bodyIsKnown) {
    const parsed = parse(utf8Text(body) ?? "");
    const signKey = hmacKey(sha256 ? sha256Hash : sha1Hash, key);
    for (const spelling of parsed === undefined ? [] : spellings(parsed)) {
      yield spelling.text.length;
      const bytes = utf8Bytes(spelling.text);
      if (hex(hmac(signKey, bytes)) !== digest.hex) continue;
      const besides = parts.length === 0 ? "" : ` Besides: ${sentenceOf(parts)}`;
      return {
        cause: spelling.aspects[0] ?? cause,
        sentence: describe(spelling.aspects) + besides,
        firstDifference: firstDifference(body, bytes),
      };
    }
  }
  const elimination = bodyIsKnown
    ? "with this secret the receiver's body does not give its digest, so the receiver uses another secret"
    : "most likely the receiver uses another secret: none of the usual changes to the body gives its digest. Give the receiver's body to be sure";
  return plain(parts.length === 0 ? "wrong_secret" : cause, sentenceOf([...parts, elimination]));
}

function sentenceOf(parts: string[]): string {
  const text = parts.join("; and ");
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}

function readDigest(given: string): ReadDigest | null {
  const bare = given.replace(/^(?:hmac-)?sha-?(?:1|256)[=:]/i, "");
  if (/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/i.test(bare)) {
    const lower = bare.toLowerCase();
    return { hex: lower, form: bare !== given ? "prefix" : bare === lower ? "hex" : "upper_case" };
  }
  const bytes = fromBase64(bare);
  return bytes !== null && (bytes.length === 20 || bytes.length === 32)
    ? { hex: hex(bytes), form: "base64" }
    : null;
}

const base64Letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

function fromBase64(text: string): Uint8Array | null {
  const letters = text
    .replaceAll("-", "+")
    .replaceAll("_", "/")
    .replace(/={1,2}$/, "");
  if (!/^[A-Za-z0-9+/]+$/.test(letters) || letters.length % 4 === 1) return null;
  const bytes: number[] = [];
  let bits = 0;
  let count = 0;
  for (const letter of letters) {
    bits = ((bits << 6) | base64Letters.indexOf(letter)) & 0xffff;
    count += 6;
    if (count >= 8) {
      count -= 8;
      bytes.push((bits >> count) & 0xff);
    }
  }
  return Uint8Array.from(bytes);
}

/** What becomes of a secret on its way into a receiver's configuration. */
function wrongSecrets(secret: string): [Uint8Array, string][] {
  const variants: [Uint8Array | null, string][] = [
    [
      utf8Bytes(secret.trim()),
      "the receiver's secret lacks the white space around the shared secret",
    ],
    [utf8Bytes(`${secret}\n`), "the receiver's secret ends with a line break"],
    [utf8Bytes(`"${secret}"`), "the receiver's secret has quotation marks around it"],
    [
      /^(?:[0-9a-f]{2})+$/i.test(secret)
        ? Uint8Array.from(secret.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16))
        : null,
      "the receiver decodes the secret from hexadecimal, but its characters are the key",
    ],
    [
      fromBase64(secret),
      "the receiver decodes the secret from Base64, but its characters are the key",
    ],
    [new Uint8Array(), "the receiver's secret is empty"],
  ];
  return variants.flatMap(([bytes, fault]): [Uint8Array, string][] =>
    bytes === null ? [] : [[bytes, fault]],
  );
}

function join(first: Uint8Array, second: Uint8Array): Uint8Array {
  const joined = new Uint8Array(first.length + second.length);
  joined.set(first);
  joined.set(second, first.length);
  return joined;
}
