/**
 * Why a message was not delivered, and what to change: a code, which agents may rely on, and a
 * sentence of ours. The codes are those of `docs/errors.md`, which has a test for it, and those of
 * signatures.
 */

import type { AttemptAnswer } from "../contract/deliveries.ts";

/** Of decisions, and of messages without one. */
export const undelivered: Readonly<Record<string, string>> = {
  disabled: "Enable the destination, then replay the message.",
  integrations_all_false:
    'The message says `integrations: {"All": false}` and does not name the destination. Send it with `"Webhooks": true`, in this spelling.',
  integrations_false:
    'The message says `integrations: {"Webhooks": false}`. Send it without that member.',
  filter_dropped:
    "A filter of the destination drops the message: the data names it. If the message should arrive, change the filter's condition or leave the filter out, then replay the message.",
  filter_sampled:
    "A filter of the destination lets only a share of the messages through. Leave the filter out, or set its `share` to 1, then replay the message.",
  plan_violations:
    "The message violates the tracking plan of its source, which blocks it: the data says where. Correct it in the program that sends it, or deliver such messages with `onViolation: record`.",
  plan_unplanned_event:
    "The tracking plan of its source does not have the event, and blocks it. Correct the event's name, add the event to the plan, or allow all with `unplannedEvents: allow`.",
  trigger_not_met:
    "No mapping of the destination has a trigger that matches. Compare the message with the triggers in its decision's `mappings`.",
  mapping_disabled: "Every mapping of the destination is off. Enable one, then replay the message.",
  payload_error:
    "The request that a mapping creates from the message cannot be sent. The decision's `mappings` say why: change the mapping, then replay the message.",
  no_destination:
    "No destination is connected to the message's source. Connect one, then replay the message.",
  not_connected:
    "Its source was not connected to the destination yet. Replay it, or send its period to the destination again.",
  other_call:
    "The destination gets the other kind of call. Its `audienceCalls` decides: identify, track or both.",
  first_sync_pending:
    "Nothing to change: the first sync of the destination sends the value that the user has then.",
  first_sync_of_another: "Nothing to change: the destination has the value already.",
  deleted_by_another_source:
    "Nothing to change: the destination gets the delete from another source.",
  duplicate:
    "The same messageId arrived from the same source within 24 hours. Give each message an id of its own; a replay sends it again.",
};

/** Of rejected messages. The message itself has to change, in the program that sends it. */
export const rejections: Readonly<Record<string, string>> = {
  batch_too_long: "Send smaller batches: at most 2,500 messages.",
  message_too_large: "Send a smaller message: at most 32,768 bytes.",
  message_id_too_long:
    "Send a `messageId` of fewer than 100 characters, or turn the setting `limitMessageIds` off.",
  missing_type: "Give each message of the batch its `type`.",
  unknown_type: "Write the type in lower case: track, identify, page, screen, group or alias.",
  invalid_type: "Send the named member with the type that the data names.",
  not_an_object: "Send a JSON object.",
  missing_user_id: "Send `userId` or `anonymousId`. Alias and delete require `userId`.",
  missing_event: "Send the event's name as `event`.",
  missing_group_id: "Send `groupId`.",
  missing_previous_id: "Send the previous identity as `previousId`.",
  suppressed: "The user is suppressed. Send another userId, or lift the suppression.",
};

type Cause = { code: string; fix: string };

const connectionCauses: Readonly<Record<string, string>> = {
  ECONNREFUSED:
    "Nothing listens at the webhook's address. Start the receiver, or correct the URL of the webhook.",
  ECONNRESET:
    "The receiver closed the connection without an answer. Its log says why: most often it crashed.",
  ENOTFOUND: "The host name has no address. Correct the URL of the webhook.",
  EAI_AGAIN: "DNS does not answer. Use an address, or a name of this machine.",
};

/** The usual cause of a failed attempt. */
export function causeOfAttempt({
  outcome,
  error,
  response,
  retryable,
}: AttemptAnswer): Cause | null {
  switch (outcome) {
    case "success":
      return null;
    case "timeout":
      return {
        code: "timeout",
        fix: "Fix in the receiver: answer-first. Store the message, answer 2xx, and work afterwards: an answer has five seconds unless the retry profile says otherwise.",
      };
    case "tls_error":
      return {
        code: error?.code ?? outcome,
        fix: "The receiver's certificate is not valid for its name. Use a valid one, or the http:// URL of a receiver on this machine.",
      };
    case "connection_error": {
      const code = error?.code ?? outcome;
      return {
        code,
        fix: connectionCauses[code] ?? "The connection failed: the data has the details.",
      };
    }
    case "http_error":
      return {
        code: `status_${response?.status ?? 0}`,
        fix: fixOfStatus(response?.status ?? 0, retryable),
      };
  }
}

function fixOfStatus(status: number, isRetried: boolean): string {
  if (status === 401 || status === 403)
    return "The receiver refuses the request, most often for its signature: compare_signature finds the difference from the digest that the receiver computes.";
  if (status === 404 || status === 405)
    return "The receiver has no handler for this path and POST. Correct the URL of the webhook, or the receiver's route.";
  if (status === 410)
    return "The receiver says that nothing is at this URL any more. Correct the URL of the webhook.";
  if (status >= 300 && status < 400)
    return "The receiver is somewhere else, and redirects are not followed. Correct the URL of the webhook: `location` in the data has the other one.";
  if (status === 429)
    return isRetried
      ? "The receiver limits its rate. The delivery is retried."
      : "The receiver limits its rate, and the retry profile of the destination does not retry 429. Let the receiver answer 503, or choose a profile that retries 429.";
  if (status >= 500)
    return "The receiver failed while it handled the message: its log and the answer's body say why.";
  return "The receiver refuses the content: the answer's body and its log say why.";
}

/** By the causes of `domain/signature-mismatch.ts`; every other one is about the body's bytes. */
const signatureFixes: Readonly<Record<string, string>> = {
  none: "The signatures are the same. The receiver compares them wrongly: compare lower-case hexadecimal text.",
  wrong_secret:
    "Fix in the receiver: secret. Use exactly the destination's shared secret as the key, without quotation marks, spaces or line breaks.",
  sha256: "Fix in the receiver: sha1. X-Signature is HMAC-SHA1.",
  base64: "Fix in the receiver: hex. X-Signature is lower-case hexadecimal.",
  upper_case: "Fix in the receiver: hex. X-Signature is lower-case hexadecimal.",
  whole_batch:
    "Fix in the receiver: first-element. Of a batch the signature covers the first element only: compute the digest over its bytes as received, after the opening bracket.",
  prefix: "Fix in the receiver: hex. X-Signature is the digest without a prefix.",
  not_hmac: "Fix in the receiver: hmac. Use HMAC-SHA1, keyed with the shared secret.",
  not_a_digest: "Give the digest that the receiver computes, in hexadecimal or Base64.",
};

export function fixOfSignature(cause: string): string {
  return (
    signatureFixes[cause] ??
    "Fix in the receiver: raw-body. Compute the digest over the bytes as received, before anything parses them."
  );
}

/** By the advices of `domain/advice.ts`. */
export const receiverFixes: Readonly<Record<string, string>> = {
  "verify-signature": "Verify HMAC-SHA1 of the raw bytes, and refuse what does not match.",
  idempotency:
    "Remember each messageId in the transaction that does the work, and skip known ones.",
  order: "Overwrite only with what has a newer `timestamp`.",
  "answer-first": "Store the message, answer 2xx, and work afterwards.",
};
