/** Checks of single messages: every type, and what a message of a real client may hold. */

import { cut, isObject, type Json, type JsonObject } from "../domain/json.ts";
import type { MessageModel } from "./message-model.ts";
import {
  briefOf,
  did,
  endMissing,
  fail,
  mustAccept,
  mustSurvive,
  pass,
  skipped,
  warn,
  type Check,
  type Outcome,
  deadlineMs,
  tooSlow,
} from "./outcome.ts";
import { isAccepted, isCrash, isUnverified } from "../receiver/request.ts";
import { answerOf, type Probe, type Recorded } from "./probe.ts";
import { sign, signatureKey } from "../domain/signature.ts";
import { checkTypes } from "./types-check.ts";

export const answerChecks: Check[] = [
  {
    id: "answers",
    title: "A valid, signed message is answered 2xx",
    group: "Answers",
    phase: "first",
    async run(probe) {
      const sent = await probe.deliverNew((token) => messageWithDigest(probe, token, "zero"));
      const isRefused = sent.status !== null && sent.status >= 400 && sent.status < 500;
      const isOfSignature = isRefused && sent.spec.signature === "valid";
      if (isOfSignature && (await refusesZero(probe)))
        return fail(
          briefOf(sent),
          `The receiver ${did(sent)} to a valid message whose signature has a byte below 16, such as 0a, and accepts one whose signature has none. It probably writes such a byte with one digit: write every byte of the digest with two.`,
          "verify-signature",
        );
      const how = isOfSignature ? await whichWriting(probe) : null;
      if (how !== null)
        return fail(
          briefOf(sent),
          `The receiver ${did(sent)} to a valid message, and accepts one that is written with ${how}. It parses the body and writes it again before it verifies. The signature covers the bytes as they came.`,
          "verify-signature",
        );
      if (!isAccepted(sent)) return fail(briefOf(sent), whyRefused(sent, probe.receiver.model));
      const page = titleOfPage(sent);
      if (page !== null)
        return warn(
          `${sent.status}, a web page`,
          `The receiver answered ${sent.status} with an HTML page${page}. This address is probably that of a web page, not of a webhook.`,
        );
      return pass(briefOf(sent));
    },
  },
  {
    id: "in-time",
    title: "Answers within 5 s",
    group: "Answers",
    phase: "first",
    async run(probe) {
      const sent: Recorded[] = [];
      for (let nth = 0; nth < 2; nth += 1)
        sent.push(await probe.send(probe.message(probe.token())));
      const slowest = sent.reduce((one, other) =>
        other.durationMs > one.durationMs ? other : one,
      );
      if (slowest.outcome === "timeout" || slowest.durationMs > deadlineMs)
        return tooSlow(slowest, "");
      if (sent.some(({ status }) => status === null))
        return skipped("The receiver did not answer: the check `answers` says why.");
      return pass(
        `${Math.round(slowest.durationMs)} ms`,
        `The slowest of ${sent.length} answers took ${Math.round(slowest.durationMs)} ms.`,
      );
    },
  },
];

/**
 * A valid message whose signature has a byte that begins with the digit 0, or none. Without a
 * secret there is no signature to choose.
 */
function messageWithDigest(probe: Probe, token: string, digest: "zero" | "no zero"): string {
  const { secret } = probe.receiver;
  if (secret === null) return probe.message(token);
  const key = signatureKey(secret);
  for (;;) {
    // Each has a time of its own, and so another signature.
    const body = probe.message(token);
    const hasZero = /^(?:..)*0/.test(sign(key, Buffer.from(body)));
    if (hasZero === (digest === "zero")) return body;
  }
}

/** Whether it refuses a valid message for a byte of its signature that begins with 0. */
async function refusesZero(probe: Probe): Promise<boolean> {
  const isTaken = async (digest: "zero" | "no zero"): Promise<boolean> =>
    isAccepted(await probe.deliver(messageWithDigest(probe, probe.token(), digest)));
  // One alone may be chance.
  return (await isTaken("no zero")) && !(await isTaken("zero")) && isTaken("no zero");
}

/** How JSON libraries write what they have parsed, where it is not how Hookyard writes it. */
const writings: { how: string; write(text: string): string }[] = [
  {
    how: "a space after each comma and colon, as Python does",
    write: (text) => JSON.stringify(JSON.parse(text), null, 1).replaceAll(/(,?)\n */g, spaceAfter),
  },
  {
    how: "its members in alphabetical order, as Go does with maps",
    write: (text) => JSON.stringify(JSON.parse(text), alphabetical),
  },
];
const spaceAfter = (_: string, comma: string): string => (comma === "" ? "" : ", ");
const alphabetical = (_: string, value: Json): Json =>
  isObject(value)
    ? Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)))
    : value;

/** Of a receiver that verifies what it has written itself: how it writes. */
async function whichWriting(probe: Probe): Promise<string | null> {
  for (const { how, write } of writings)
    if (isAccepted(await probe.deliver(write(probe.message(probe.token()))))) return how;
  return null;
}

function whyRefused(sent: Recorded, { name, isOfUser }: MessageModel): string {
  const { status, responseHead, spec } = sent;
  const location = /^location: *(.*?)\r?$/im.exec(responseHead)?.[1];
  if (status === null || sent.error !== null) {
    const why = sent.error?.message ?? "The receiver did not answer.";
    return status !== null && sent.outcome === "timeout" ? `${why} ${endMissing}` : why;
  }
  if (status >= 300 && status < 400) {
    const where = location === undefined ? "" : ` to ${location}`;
    const login = /login|signin|auth|sso/i.test(location ?? "")
      ? " That looks like a login page: let this path in without a session, and check the signature instead."
      : "";
    return `The receiver answered ${status}, a redirect${where}. Senders of webhooks do not follow redirects: use the address that it redirects to.${login}`;
  }
  const signed =
    spec.signature === "valid"
      ? "Is the shared secret (--secret) the one that the receiver has?"
      : "Does it check signatures? Then give its shared secret (--secret).";
  switch (status) {
    case 401:
    case 403:
      return `The receiver refused a valid message with ${status}. ${signed} If it needs a header of its own, give it with --header "Name: value".`;
    case 404:
      return `The receiver answered 404: nothing listens at this path. Check the path of the URL.`;
    case 405:
      return `The receiver answered 405: it does not take POST at this path. Check the path of the URL.`;
    default:
      return `The receiver answered ${answerOf(sent)} to a valid message, ${name}.${isOfUser ? "" : " If it expects another message, give that one (--message)."} Any status from 200 to 299 says that a message has been accepted.${wordsOf(sent)}`;
  }
}

/** What the receiver says about its refusal, when it is short. */
function wordsOf({ responseHead, responseBody }: Recorded): string {
  const words = Buffer.from(responseBody).toString("utf8").trim().replaceAll(/\s+/g, " ");
  const isPage = /^content-type: *text\/html/im.test(responseHead);
  return words === "" || isPage ? "" : ` The receiver says "${cut(words)}".`;
}

/** Null when the answer is no HTML. */
function titleOfPage({ responseHead, responseBody }: Recorded): string | null {
  const text = Buffer.from(responseBody).toString("utf8");
  // Many frameworks call every answer HTML.
  if (
    !/^content-type: *text\/html/im.test(responseHead) ||
    !/^\s*<(?:!doctype|html|head|title)/i.test(text)
  )
    return null;
  const title = /<title[^>]*>([^<]{1,80})/i.exec(text)?.[1]?.trim();
  return title === undefined ? "" : ` ("${title}")`;
}

function nested(levels: number): Json {
  let value: Json = "the innermost";
  for (let level = 0; level < levels; level += 1) value = { level: value };
  return value;
}

const everywhere =
  "Messages like this come from real clients, and a message that fails for four hours is lost.";

type Content = {
  id: string;
  title: string;
  what: string;
  phase: Check["phase"];
  body(probe: Probe, token: string): string;
  /** Another, which the receiver may have no use for. */
  unusual?(probe: Probe, token: string): string;
};

const outsideAscii = {
  emoji: "👩‍👩‍👧‍👦🏳️‍🌈",
  accents: "Größe ✓",
  long: `a${"🎉".repeat(300)}`,
  rtl: "שלום مرحبا",
  cjk: "日本語",
  escapes: 'a "quoted" back\\slash\nand\ta tab',
  line: "\u2028",
};

/**
 * Bodies that are the same after parsing and writing them again, so that they say nothing about
 * signatures.
 */
const contents: Content[] = [
  {
    id: "big",
    title: "Accepts a body of 32 KB",
    what: "a message of 32 KB",
    phase: "alone",
    body(probe, token) {
      const empty = probe.message(token, { inside: { text: "" } });
      return probe.message(token, {
        inside: {
          text: "lorem ipsum ".repeat(3_000).slice(0, 32 * 1024 - Buffer.byteLength(empty)),
        },
      });
    },
  },
  {
    id: "unicode",
    title: "Accepts text outside ASCII",
    what: "a message with emoji, Arabic and Chinese text, and escapes",
    phase: "alone",
    body: (probe, token) => probe.message(token, { inside: outsideAscii }),
    // A cut at an even number of bytes, or at 255, ends inside a character.
    unusual: (probe, token) =>
      probe.message(token, { event: `P${"🛒".repeat(16)}`, inside: outsideAscii }),
  },
  {
    id: "deep",
    title: "Accepts 50 levels of nesting",
    what: "a message with 50 levels",
    phase: "alone",
    body: (probe, token) => probe.message(token, { inside: { nested: nested(50) } }),
  },
  {
    id: "numbers",
    title: "Accepts large and fractional numbers",
    what: "a message with large and fractional numbers",
    phase: "alone",
    body: (probe, token) =>
      probe.message(token, {
        inside: {
          safe: 9007199254740991,
          millis: 1795000000000,
          negative: -2147483649,
          fraction: 0.1,
          small: 1.5e-9,
          large: 1.7976931348623157e308,
        },
      }),
  },
];

export const messageChecks: Check[] = [
  {
    id: "types",
    title: "Accepts all seven types, and each takes effect",
    group: "Messages",
    phase: "together",
    run: checkTypes,
  },
  {
    id: "unknown-type",
    title: "Survives a type that it does not know",
    group: "Messages",
    answers: "no crash",
    phase: "alone",
    async run(probe) {
      const sent = await probe.deliverNew((token) => probe.message(token, { type: "loyalty" }));
      return mustSurvive(
        sent,
        'a message of the unknown type "loyalty"',
        "New types appear: answer 200 and ignore what you do not know.",
        () => pass(briefOf(sent)),
      );
    },
  },
  {
    id: "unknown-members",
    title: "Survives members that it does not know",
    group: "Messages",
    answers: "no crash",
    phase: "alone",
    async run(probe) {
      const sent = await probe.deliverNew((token) =>
        probe.message(token, {
          receivedBy: ["a", { b: null }],
          shard: 7,
          inside: { list: [1, null, {}], none: null },
        }),
      );
      return mustSurvive(
        sent,
        "a message with members that it does not know",
        "Payloads gain members over time: ignore the unknown ones.",
        refusedFor("members that it does not know"),
      );
    },
  },
  {
    id: "empty-properties",
    title: "Survives empty properties",
    group: "Messages",
    answers: "no crash",
    phase: "alone",
    async run(probe) {
      const sent = await probe.deliverNew((token) =>
        probe.message(token, { [probe.receiver.model.bag]: {} }),
      );
      return mustSurvive(
        sent,
        "a message without details: its properties, or traits, are {}",
        "Many events have none.",
        refusedFor(`empty ${probe.receiver.model.bag}`),
      );
    },
  },
  {
    id: "no-user-id",
    title: "Survives an anonymous message",
    group: "Messages",
    answers: "no crash",
    phase: "alone",
    async run(probe) {
      const sent = await probe.deliverNew((token) => {
        const { userId: _, ...anonymous } = JSON.parse(probe.message(token)) as JsonObject;
        return JSON.stringify({ anonymousId: `visitor-${token}`, ...anonymous });
      });
      return mustSurvive(
        sent,
        "a message without userId",
        "Visitors who have not signed in have an anonymousId only.",
        refusedFor("an anonymous message"),
      );
    },
  },
  ...contents.map((content): Check => ({
    id: content.id,
    title: content.title,
    group: "Messages",
    phase: content.phase,
    run: (probe) => checkContent(probe, content),
  })),
];

async function checkContent(probe: Probe, content: Content): Promise<Outcome> {
  const { what, body, unusual } = content;
  const { isOfUser } = probe.receiver.model;
  // What it leaves unread must not spoil the connections of other checks.
  const connection = content.id === "big" ? ({ connection: "kept" } as const) : {};
  const sent = await probe.deliverNew((token) => body(probe, token), connection);
  if (isOfUser && !isAccepted(sent) && !isCrash(sent) && (await refusesMore(probe)))
    return skipped(
      `The receiver ${did(sent)}: it refuses every message with a property that it does not know, and this check adds one. See the check unknown-members.`,
    );
  const [token] = sent.tokens;
  if (isAccepted(sent) && probe.hasEffects && token !== undefined && !(await probe.isDone(token)))
    return fail(
      `${briefOf(sent)}, no effect`,
      `The receiver ${did(sent)} to ${what}, and it took no effect. The sender will not send it again, so it is lost. Answer 5xx when the work fails.`,
    );
  if (content.id === "big" && !isAccepted(sent) && (await spoilsConnection(probe)))
    return fail(
      briefOf(sent),
      `The receiver ${did(sent)} to ${what}, and refused the next valid message on the same connection. It probably refuses before it has read the body, and takes the body for the next request: read all of it first, or close the connection. ${everywhere}`,
    );
  // A receiver that expects a message of its own expects its event too.
  if (unusual === undefined || isOfUser || !isAccepted(sent)) return mustAcceptAll(sent, content);
  return mustAcceptAll(await probe.deliverNew((token) => unusual(probe, token)), content);
}

/** Whether it refuses a valid message on the kept connection, and accepts one on a new one. */
async function spoilsConnection(probe: Probe): Promise<boolean> {
  const next = await probe.send(probe.message(probe.token()), { connection: "kept" });
  if (next.status === null || isAccepted(next)) return false;
  return isAccepted(await probe.deliver(probe.message(probe.token()), { connection: "close" }));
}

/** It has accepted others, so what it says of the signature is about this body. */
function mustAcceptAll(sent: Recorded, { id, what }: Content): Outcome {
  const how =
    id === "big"
      ? "only the beginning of a long body, or one that was parsed and written again"
      : "decoded in another character set, or parsed and written again";
  return isUnverified(sent)
    ? mustAccept(
        sent,
        what,
        `Its signature is right. The receiver probably verifies other bytes than those that came: ${how}. ${everywhere}`,
        "verify-signature",
      )
    : mustAccept(sent, what, everywhere);
}

/** Whether one short property more is too much for it. */
async function refusesMore(probe: Probe): Promise<boolean> {
  const send = (inside: JsonObject): Promise<Recorded> =>
    probe.deliverNew((token) => probe.message(token, { inside }));
  return isAccepted(await send({})) && !isAccepted(await send({ text: "short" }));
}

function refusedFor(what: string): (sent: Recorded) => Outcome {
  return (sent) =>
    warn(
      briefOf(sent),
      `The receiver ${did(sent)} to ${what}. A 4xx is not retried, so such messages are lost. Answer 2xx and keep what you can use.`,
    );
}
