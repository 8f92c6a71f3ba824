/**
 * Secrets and e-mail addresses that must not be on the screen while somebody presents. What the host answers passes
 * through here: values of members and headers that hold secrets are learned, and replaced wherever
 * they appear in an answer. A mask in an input becomes its secret again, so that a form that is
 * saved meanwhile keeps it.
 */

const secretMembers =
  /^(?:writeKey|\w*(?:secret|passw(?:or)?d|passphrase|token|api_?key|credentials?))$/i;
const headerNames =
  "authorization|proxy-authorization|cookie|set-cookie|x-api-key|x-auth-token|x-shared-secret";
const secretHeader = new RegExp(`^(?:${headerNames})$`, "i");
/** In the text of a request, of a scenario file, and in a URL. */
const inTexts: readonly RegExp[] = [
  new RegExp(`^(?:${headerNames}):[ \\t]*(.+?)\\r?$`, "gim"),
  /\b(?:sharedSecret|writeKey)"?:[ \t]*["']?([^\s"'{},]+)/g,
  /:\/\/[^\s/@:"]*:([^\s/@"]+)@/g,
  /[?&](?:\w*(?:token|secret|passw(?:or)?d|api_?key|signature)|key|sig|auth)=([^\s&#"'<>]+)/gi,
  // In a body, and in a body within a text.
  /\b\w*(?:secret|passw(?:or)?d|passphrase|token|api_?key|credentials?|authorization)\\*"\s*:\s*\\*"([^"\\]+)/gi,
];

/** From the beginning of a word only: it would be read again from each of its letters. */
const emailAddress = /(?<![\w.+-])[\w.+-]+(?:@|%40)(?:[a-z0-9-]+\.)+[a-z]{2,}/gi;

/** A shorter one is a word of many texts, and is replaced only where it is known to be a secret. */
const leastLength = 6;

const masks = new Map<string, string>();
const addresses = new Map<string, string>();
const secrets = new Map<string, string>();
const bullets = "••••••";
/** It has an end of its own, as a digit may follow. */
const anyMask = new RegExp(`${bullets}\\d+•`, "g");

let isOn = false;

export function hideSecrets(on: boolean): void {
  isOn = on;
}

function maskOf(secret: string, all = masks): string {
  const known = all.get(secret);
  if (known !== undefined) return known;
  const mask = `${bullets}${secrets.size + 1}•`;
  all.set(secret, mask);
  secrets.set(mask, secret);
  return mask;
}

export function masked<Answer>(answer: Answer): Answer {
  if (!isOn) return answer;
  learn(answer);
  return replaced(answer) as Answer;
}

/** The secrets of what somebody writes while they are hidden. */
export function unmasked<Input>(input: Input): Input {
  if (secrets.size === 0) return input;
  return changedTexts(input, (text) =>
    text.replaceAll(anyMask, (mask) => secrets.get(mask) ?? mask),
  ) as Input;
}

function learn(value: unknown): void {
  if (typeof value === "string") return learnFromText(value);
  if (typeof value !== "object" || value === null) return;
  if (Array.isArray(value)) {
    const [name, text] = value as unknown[];
    if (value.length === 2 && isSecretHeader(name) && typeof text === "string") keep(text);
    for (const item of value) learn(item);
    return;
  }
  for (const [name, item] of Object.entries(value)) {
    if (typeof item === "string" && (secretMembers.test(name) || secretHeader.test(name)))
      keep(item);
    else learn(item);
  }
}

const isSecretHeader = (name: unknown): boolean =>
  typeof name === "string" && secretHeader.test(name);

function learnFromText(text: string): void {
  for (const pattern of inTexts) for (const [, secret = ""] of text.matchAll(pattern)) keep(secret);
}

function keep(secret: string): void {
  if (secret.length < leastLength || secret.startsWith(bullets)) return;
  maskOf(secret);
  // As HTTP sends a write key.
  if (/^[\x20-\x7e]+$/.test(secret)) maskOf(globalThis.btoa(`${secret}:`));
}

function replaced(value: unknown): unknown {
  const all = [...masks].toSorted(([one], [other]) => other.length - one.length);
  return changedTexts(
    value,
    (text) =>
      all
        .reduce((rest, [secret, mask]) => rest.replaceAll(secret, mask), text)
        .replaceAll(emailAddress, (address) => maskOf(address, addresses)),
    (name, item) => (secretMembers.test(name) && item !== "" ? maskOf(item) : null),
  );
}

/** Bytes have no dots: a mask is drawn with stars in them. */
const maskInBytes = /\*{6}\d+\*/g;

/** Bytes that are no text, as the contract has them. */
function changedBytes(base64: string, change: (text: string) => string): { base64: string } {
  const text = globalThis.atob(base64).replaceAll(maskInBytes, (mask) => mask.replaceAll("*", "•"));
  const changed = change(text).replaceAll("•", "*");
  return /[\u0100-\uffff]/.test(changed) ? { base64 } : { base64: globalThis.btoa(changed) };
}

function changedTexts(
  value: unknown,
  change: (text: string) => string,
  member: (name: string, text: string) => string | null = () => null,
): unknown {
  if (typeof value === "string") return change(value);
  if (Array.isArray(value)) return value.map((item) => changedTexts(item, change, member));
  if (typeof value !== "object" || value === null) return value;
  if ("base64" in value && typeof value.base64 === "string")
    return changedBytes(value.base64, change);
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [
      name,
      (typeof item === "string" ? member(name, item) : null) ?? changedTexts(item, change, member),
    ]),
  );
}
