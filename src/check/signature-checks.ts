/**
 * Checks of the signature: what must be refused is refused, and a right one over the raw bytes is
 * accepted.
 */

import type { JsonObject } from "../domain/json.ts";
import { briefOf, did, fail, pass, warn, type Check, type Outcome } from "./outcome.ts";
import { isAccepted, isCrash, saidYes } from "../receiver/request.ts";
import { type Probe, type Recorded } from "./probe.ts";
import type { SignatureManner } from "../receiver/request-spec.ts";

type Forgery = {
  id: string;
  title: string;
  what: string;
  manners: readonly SignatureManner[];
  why: string;
};

const forgeries: Forgery[] = [
  {
    id: "signature-wrong",
    title: "Refuses a wrong signature",
    what: "a wrong signature",
    manners: ["other-secret", "last-digit", "no-secret"],
    why: "Anybody who knows the URL can send it messages.",
  },
  {
    id: "signature-missing",
    title: "Refuses a missing signature",
    what: "no signature",
    manners: ["missing", "empty"],
    why: "Anybody who knows the URL can send it messages, by leaving the header out.",
  },
  {
    id: "signature-of-other-body",
    title: "Refuses the signature of another body",
    what: "the signature of another body",
    manners: ["of-other-body"],
    why: "Whoever has seen one signed message can send any other with its signature.",
  },
  {
    id: "signature-truncated",
    title: "Refuses a truncated signature",
    what: "the beginning of the right signature",
    manners: ["truncated", "first-half"],
    why: "A signature of a few digits can be guessed. Compare the whole of it.",
  },
];

async function checkForgery(probe: Probe, { id, what, manners, why }: Forgery): Promise<Outcome> {
  const sent: Recorded[] = [];
  for (const signature of manners) {
    const otherBody = probe.message(probe.token());
    // Only the signature of a message that the receiver has seen and accepted can be found in its
    // memory.
    if (signature === "of-other-body") await probe.deliver(otherBody);
    const one = await probe.deliver(probe.message(probe.token()), {
      signature,
      ...(signature === "of-other-body" ? { otherBody } : {}),
    });
    sent.push(one);
    if (saidYes(one))
      return fail(
        briefOf(one),
        `The receiver ${did(one)} to a message with ${signature === "no-secret" ? "the signature of an empty secret" : what}. ${why}${signature === "no-secret" ? " It probably accepts several secrets, one of which is not set: use only those that are." : ""}`,
        "verify-signature",
      );
  }
  if (probe.hasEffects) {
    const tokens = sent.flatMap((one) => one.tokens);
    const effects = await probe.effects(tokens, 0);
    if (tokens.some((token) => (effects.get(token)?.count ?? 0) > 0))
      return fail(
        "refused, but done",
        `The receiver refused a message with ${what}, and it took effect anyway. Check the signature before anything else.`,
        "verify-signature",
      );
  }
  const [first] = sent;
  const [token] = first?.tokens ?? [];
  if (id === "signature-wrong" && probe.hasEffects && first !== undefined && token !== undefined) {
    const again = await probe.deliver(first.spec.body);
    if (isAccepted(again) && !(await probe.isDone(token)))
      return fail(
        "valid, but not done",
        `The receiver ${did(again)} to a valid message, and it took no effect, because it had come with ${what} before. It remembers the messageId before it checks the signature, so anybody can keep messages from it.`,
        "verify-signature",
      );
  }
  const crashed = sent.find(isCrash);
  if (crashed !== undefined)
    return warn(
      briefOf(crashed),
      `The receiver ${did(crashed)} to a message with ${what}. It did not accept it, but a server error says that the sender should try again. Answer 401.`,
    );
  return pass(sent[0] === undefined ? "" : briefOf(sent[0]));
}

/**
 * A message as some clients write it: other bytes than `JSON.stringify` writes, with the same
 * values.
 */
function oddlyWritten(probe: Probe): string {
  const ofShop = { event: "Café ✓ visited", inside: { path: "/menu", big: 1000 } };
  const { isOfUser } = probe.receiver.model;
  const text = probe.message(probe.token(), isOfUser ? {} : ofShop);
  const { version = 1, type = null, ...members } = JSON.parse(text) as JsonObject;
  return (
    JSON.stringify({ type, version, ...members }, null, 1)
      .replace(/(?<="type": ")./, escaped)
      .replaceAll(/(": -?\d+\.\d+)(?=[,\n])/g, "$10")
      // A typed parser, such as that of Go, takes no exponent for a whole number of its own.
      .replaceAll(/(": \d+)000(?=[,\n])/g, isOfUser ? "$&" : "$1E3")
      .replaceAll("/", "\\/")
      .replaceAll(/[^\0-\x7f]/g, escaped)
  );
}

const escaped = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;

export const signatureChecks: Check[] = [
  ...forgeries.map((forgery): Check => ({
    id: forgery.id,
    title: forgery.title,
    group: "Signature",
    needs: "secret",
    answers: "refused",
    phase: "together",
    run: (probe) => checkForgery(probe, forgery),
  })),
  {
    id: "signature-raw-body",
    title: "Verifies the bytes as they came",
    group: "Signature",
    needs: "secret",
    phase: "together",
    async run(probe) {
      const odd = await probe.deliver(oddlyWritten(probe));
      if (isCrash(odd))
        return fail(
          briefOf(odd),
          `The receiver ${did(odd)} to a valid message with spaces, escapes and another order of members, signed over its bytes.`,
        );
      if (!isAccepted(odd))
        return fail(
          briefOf(odd),
          `The receiver ${did(odd)} to a valid message with spaces, escapes and another order of members, signed over its bytes. It probably parses the body and writes it again before it verifies. The signature covers the bytes as they came.`,
          "verify-signature",
        );
      const padded = await probe.deliver(`\n  ${probe.message(probe.token())} \r\n`);
      if (isAccepted(padded)) return pass(briefOf(odd));
      return fail(
        briefOf(padded),
        `The receiver ${did(padded)} to a valid message with white space before and after it, signed over its bytes. It probably trims the body before it verifies. The signature covers the bytes as they came.`,
        "verify-signature",
      );
    },
  },
  {
    id: "signature-restringified",
    title: "Also accepts a signature over the body as JSON.stringify writes it",
    group: "Signature",
    needs: "secret",
    phase: "together",
    async run(probe) {
      const sent = await probe.deliver(oddlyWritten(probe), { signature: "restringified" });
      if (isAccepted(sent)) return pass(briefOf(sent));
      return warn(
        briefOf(sent),
        "The documentation of the hosted service shows a receiver that verifies the parsed body after writing it again; this receiver verifies the bytes as they came, which is right. Both agree on every body that is delivered to a webhook.",
      );
    },
  },
];
