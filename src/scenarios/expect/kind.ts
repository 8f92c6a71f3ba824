/**
 * What every kind of expectation has: how it chooses things, what is wrong with one, and how it is
 * shown.
 */

import type { SeenAttempt } from "../run/deliveries.ts";
import type { History } from "../run/history.ts";
import { bytesOf, type RecordedBytes } from "../../contract/shapes.ts";
import type { Json } from "../../domain/json.ts";
import { coverable, sign, signatureKey } from "../../domain/signature.ts";
import { lookUp, parseJsonPath } from "../file/json-path.ts";
import { inOneLine } from "../file/in-one-line.ts";
import { fits, isMatcher, type ExpectedValue } from "../file/matcher.ts";

/** One claim that a thing does not meet. */
export type Wrong = { what: string; expected: string; actual: string };

/** Which expectations are about one thing: a delivery, say, or the attempts of one at a webhook. */
export type Kind<Claim, Thing> = {
  /** `delivery`, `deliveries` */
  nouns: readonly [one: string, many: string];
  /** How many there are, chosen or not. */
  total(history: History): number;
  chosen(history: History, claim: Claim): Thing[];
  /** Empty when the thing is as claimed. */
  wrongWith(thing: Thing, claim: Claim, view: View): Wrong[];
  /** How many a thing counts for. */
  countOf(thing: Thing): number;
  label(thing: Thing): string;
  /** The attempts that led to it. */
  behind(thing: Thing, history: History): SeenAttempt[];
  idOf(thing: Thing): string;
  /** Grows with each change of the thing. */
  versionOf(thing: Thing): number;
};

/** What the judging needs beside the history. */
export type View = {
  startedAt: number;
  now: number;
  /** The shared secret that a destination has now. */
  secretOf(destination: string): string | null;
};

/** `state delivered` against `state waiting` */
export function wrong(what: string, expected: string, actual: string): Wrong[] {
  return [{ what, expected, actual }];
}

type PartsClaim = {
  headers?: Record<string, ExpectedValue> | undefined;
  body?: Record<string, ExpectedValue> | undefined;
  signature?: "valid" | "invalid" | "none" | undefined;
  signedWith?: string | undefined;
};

type RecordedParts = {
  headers: readonly [string, string][];
  body: RecordedBytes;
  /** Of the body in bytes, where fewer may be recorded. */
  size?: number;
  /** That of the destination. */
  secret: string | null;
};

/**
 * What may be claimed of a recorded request or answer: its headers, places in its body, its
 * signature.
 */
export function wrongInParts(claim: PartsClaim, parts: RecordedParts): Wrong[] {
  return [
    ...wrongHeaders(claim.headers, parts),
    ...wrongBody(claim.body, parts),
    ...wrongSignature(claim, parts),
  ];
}

function wrongHeaders(
  claimed: Record<string, ExpectedValue> = {},
  { headers }: RecordedParts,
): Wrong[] {
  return Object.entries(claimed).flatMap(([name, expected]) => {
    const values = headers
      .filter(([other]) => other.toLowerCase() === name.toLowerCase())
      .map(([, value]) => value);
    const holds =
      values.length === 0
        ? fits(undefined, expected)
        : values.some((value) => fits(value, asHeader(expected)));
    return holds
      ? []
      : wrong(
          `header ${name}`,
          expectedText(expected),
          values.length === 0 ? "missing" : values.map(valueText).join(", "),
        );
  });
}

/** A header is a text: `Content-Length: 12` means the text. */
function asHeader(expected: ExpectedValue): ExpectedValue {
  return typeof expected === "number" || typeof expected === "boolean"
    ? String(expected)
    : expected;
}

function wrongBody(claimed: Record<string, ExpectedValue> = {}, parts: RecordedParts): Wrong[] {
  const entries = Object.entries(claimed);
  if (entries.length === 0) return [];
  const root = parseBody(wholeBody(parts));
  return entries.flatMap(([path, expected]) => {
    const value = lookUp(root, parseJsonPath(path) ?? []);
    if (fits(value, expected)) return [];
    return wrong(
      path,
      expectedText(expected),
      root === undefined ? "the body is not JSON" : valueText(value),
    );
  });
}

function wholeBody({ body, size = 0 }: RecordedParts): RecordedBytes {
  const recorded = bytesOf(body).length;
  if (recorded < size)
    throw new Error(
      `Of a body of ${size.toLocaleString("en")} bytes, only the first ${recorded.toLocaleString("en")} are recorded. Send less, or expect attempts, which have the whole body of each request.`,
    );
  return body;
}

function parseBody(body: RecordedBytes): Json | undefined {
  try {
    return typeof body === "string" ? (JSON.parse(body) as Json) : undefined;
  } catch {
    return undefined;
  }
}

function wrongSignature({ signature, signedWith }: PartsClaim, parts: RecordedParts): Wrong[] {
  if (signature === undefined && signedWith === undefined) return [];
  const { headers, secret } = parts;
  const signed = coverable(bytesOf(wholeBody(parts)));
  const value = headers.find(([name]) => name.toLowerCase() === "x-signature")?.[1];
  const verifies = (key: string): boolean =>
    signed.some((bytes) => value === sign(signatureKey(key), bytes));
  const actual =
    value === undefined ? "none" : secret !== null && verifies(secret) ? "valid" : "invalid";
  return [
    ...(signature === undefined || signature === actual
      ? []
      : wrong("signature", signature, actual)),
    ...(signedWith === undefined || (value !== undefined && verifies(signedWith))
      ? []
      : wrong(
          "signature",
          "signed with the secret of signedWith",
          value === undefined ? "none" : "signed with another secret",
        )),
  ];
}

/** A value as a report shows it: a text as it is, unless it could be taken for something else. */
function valueText(value: Json | undefined): string {
  if (value === undefined) return "missing";
  return inOneLine(typeof value === "string" && !isJson(value) ? value : JSON.stringify(value));
}

/** `atLeast 3, atMost 5` */
function expectedText(expected: ExpectedValue): string {
  if (!isMatcher(expected)) return valueText(expected as Json);
  return Object.entries(expected)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) =>
      name === "exists"
        ? value === true
          ? "there"
          : "missing"
        : `${name} ${valueText(value as Json)}`,
    )
    .join(", ");
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return text === "";
  }
}
