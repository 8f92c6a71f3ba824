/**
 * Cuts a request that makes too many rows for one turn of the event loop into parts, which the
 * store gets as requests of their own: a thousand messages with two hundred destinations are two
 * hundred thousand deliveries. Each part has the bytes around the messages and those of its own
 * messages, so it is a smaller batch that a client could have sent. Used by the commit queue, and
 * where a write key is adopted.
 */

import type { IncomingRequest, NewMessage } from "../ports.ts";
import type { RoutedMessage } from "../route/decision.ts";
import { stepsPerTurn } from "../route/route.ts";
import { nextTurn } from "../real-time.ts";
import type { AcceptedRequest } from "./accept.ts";

/** Rows of one part: some 50 ms. */
const maxRows = 5000;
const rowsPerMappedRequest = 4;
const bytesPerRow = 4000;

/** `rest` is the body without the messages of the parts up to this one; null after the last. */
type RequestPart = IncomingRequest & { rest: Buffer | null };

/** Routes the messages, in turns; each part is ready to be committed. */
export async function* partsOf(request: AcceptedRequest): AsyncGenerator<RequestPart> {
  let first = 0;
  let routed: NewMessage[] = [];
  let rows = 0;
  let steps = 0;
  for (const [place, message] of request.messages.entries()) {
    const routing = message.routing();
    let step = routing.next();
    for (; step.done !== true; step = routing.next()) {
      steps += step.value;
      if (steps < stepsPerTurn) continue;
      steps = 0;
      await nextTurn();
    }
    const { value } = step;
    routed.push({ ...message, route: () => value });
    rows += rowsOf(value);
    const end = place + 1;
    if (rows < maxRows && end < request.messages.length) continue;
    yield partOf(request, first, end, routed);
    first = end;
    routed = [];
    rows = 0;
    steps = 0;
  }
}

function rowsOf({ decisions, payloads }: RoutedMessage): number {
  let rows = 1;
  let bytes = (payloads.documented?.length ?? 0) + (payloads.full?.length ?? 0);
  for (const { requests = [], filtered } of decisions) {
    rows += 1 + requests.length * rowsPerMappedRequest;
    for (const { body } of requests) bytes += body?.length ?? 0;
    if (filtered !== undefined)
      bytes += (filtered.bodies?.before.length ?? 0) + (filtered.bodies?.after.length ?? 0);
  }
  return rows + bytes / bytesPerRow;
}

function partOf(
  { bytes: _, weight: __, surplus: ___, ...request }: AcceptedRequest,
  first: number,
  end: number,
  messages: NewMessage[],
): RequestPart {
  const all = request.messages;
  if (first === 0 && end === all.length) return { ...request, messages, rest: null };
  const endOf = ({ offset, size }: NewMessage): number => offset + size;
  const from = all[0]!.offset;
  const shift = all[first]!.offset - from;
  const bodyOf = (start: NewMessage, last: NewMessage): Buffer =>
    Buffer.concat([
      request.body.subarray(0, from),
      request.body.subarray(start.offset, endOf(last)),
      request.body.subarray(endOf(all.at(-1)!)),
    ]);
  return {
    ...request,
    body: bodyOf(all[first]!, all[end - 1]!),
    messages: messages.map((message) => ({ ...message, offset: message.offset - shift })),
    rest: end < all.length ? bodyOf(all[end]!, all.at(-1)!) : null,
  };
}
