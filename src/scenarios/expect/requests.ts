import type { RequestsClaim } from "../file/expectation-schema.ts";
import type { SeenRequest } from "../run/history.ts";
import { isOneOf, messageLabel } from "./choice.ts";
import { wrong, type Kind } from "./kind.ts";
import { wrongInParts } from "./parts.ts";

export const requests: Kind<RequestsClaim, SeenRequest> = {
  nouns: ["request", "requests"],
  total: (history) => history.requests.length,
  chosen: (history, { of }) => history.requests.filter((request) => choosesRequest(of, request)),
  wrongWith({ details }, claim) {
    const { answered, signature } = claim;
    const did =
      details.did === "answer" || details.did === "default" || details.did === "redirect" ? (details.status ?? details.did) : details.did;
    const seen = details.signature === null ? "none" : details.signature.verifies.some(({ valid }) => valid) ? "valid" : "invalid";
    return [
      ...(answered === undefined || String(answered) === String(did) ? [] : wrong("answered", String(answered), String(did))),
      ...(signature === undefined || signature === seen ? [] : wrong("signature", signature, seen)),
      ...wrongInParts({ ...claim, signature: undefined }, { headers: details.headers, body: details.body, secret: null }),
    ];
  },
  countOf: () => 1,
  label({ endpoint, message, details }) {
    const { type, event, userId } = details.message;
    const what = message === null ? [type ?? "request", event, userId].filter((part) => part !== null).join(" ") : messageLabel(message);
    return `${what}, received by ${endpoint}`;
  },
  behind: ({ endpoint, message }, { deliveries }) =>
    deliveries
      .filter((delivery) => message !== null && delivery.message.ordinal === message.ordinal)
      .flatMap(({ attempts }) => attempts.filter(({ webhook }) => webhook === endpoint)),
  idOf: ({ details }) => details.id,
  versionOf: () => 0,
};

function choosesRequest(of: RequestsClaim["of"], { endpoint, message, details }: SeenRequest): boolean {
  const seen = details.message;
  return (
    isOneOf(of?.endpoint, endpoint) &&
    isOneOf(of?.type, seen.type) &&
    isOneOf(of?.event, seen.event) &&
    (isOneOf(of?.userId, seen.userId) || isOneOf(of?.userId, message?.details.anonymousId ?? null)) &&
    isOneOf(of?.messageId, seen.messageId)
  );
}
