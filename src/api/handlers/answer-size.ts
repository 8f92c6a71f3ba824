/** Keeps answers below 1 MB, whatever names clients choose and however much was recorded. */

/** Ids and times are longer in an answer than here, by less than 200 bytes an item. */
export const maxAnswerBytes = 900_000;
const longerInAnswer = 200;

/**
 * As many of a page's items as an answer has room for, and at least one; `cursorAfter` is the cursor
 * behind an item.
 */
export function withinAnswer<Item, Cursor, Rest extends object>(
  page: Rest & { items: Item[]; nextCursor: Cursor | null },
  cursorAfter: (item: Item) => Cursor,
  sizeOf: (item: Item) => number = (item) => Buffer.byteLength(JSON.stringify(item)),
): typeof page {
  let bytes = 0;
  const end = page.items.findIndex(
    (item) => (bytes += sizeOf(item) + longerInAnswer) > maxAnswerBytes,
  );
  if (end === -1) return page;
  const items = page.items.slice(0, Math.max(1, end));
  if (items.length === page.items.length) return page;
  return { ...page, items, nextCursor: cursorAfter(items.at(-1) as Item) };
}

/** As many of the first items as an answer has room for. */
export function firstWithin<Item>(
  items: readonly Item[],
  sizeOf: (item: Item) => number = (item) => Buffer.byteLength(JSON.stringify(item)),
  room = maxAnswerBytes,
): Item[] {
  let bytes = 0;
  const end = items.findIndex((item) => (bytes += sizeOf(item)) > room);
  return items.slice(0, end === -1 ? items.length : end);
}

type Part = { startLine: string; headers: [string, string][]; body: Uint8Array };
type Exchange = { error: unknown; request: Part & { url: string }; response: Part | null };
type Attempt = Exchange & { id: number; webhookUrl: string; leftOut: boolean };
type Delivery<One> = { payload: Uint8Array; attempts: One[]; transitions: readonly unknown[] };

/** Of a delivery without its attempts and payload, and of a change of its state. */
const deliveryFrame = 500;
const transitionFrame = 150;

const maxAttempts = 1000;

/**
 * First the attempts without their bytes, then payloads, then the bytes of attempts, newest first:
 * each while there is room.
 */
export function withinRoom<One extends Attempt, Of extends Delivery<One>>(
  deliveries: readonly Of[],
  room: number,
): Of[] {
  const changes = deliveries.reduce((sum, { transitions }) => sum + transitions.length, 0);
  let left = room - deliveries.length * deliveryFrame - changes * transitionFrame;
  const fits = (size: number): boolean => {
    if (size > left) return false;
    left -= size;
    return true;
  };
  const maxEach = Math.ceil(maxAttempts / Math.max(1, deliveries.length));
  const newest = deliveries
    .flatMap(({ attempts }) => attempts.slice(-maxEach))
    .toSorted((a, b) => b.id - a.id)
    .filter((attempt) => fits(bareSize(attempt)));
  const withPayloads = deliveries.map((delivery) =>
    fits(jsonSize(delivery.payload)) ? delivery : { ...delivery, payload: noBytes },
  );
  const kept = new Map(
    newest.map((attempt) => [
      attempt.id,
      !attempt.leftOut && fits(bytesSize(attempt)) ? attempt : bare(attempt),
    ]),
  );
  return withPayloads.map((delivery) => ({
    ...delivery,
    attempts: delivery.attempts.flatMap(({ id }) => kept.get(id) ?? []),
  }));
}

function bare<One extends Attempt>({ request, response, ...attempt }: One): One {
  const nothing = { headers: [], body: noBytes };
  return {
    ...attempt,
    request: { ...request, ...nothing },
    response: response && { ...response, ...nothing },
    leftOut: true,
  } as unknown as One;
}

/** Names, ids and times of an attempt's answer. */
const attemptFrame = 700;

function bareSize({ webhookUrl, request, response, error }: Attempt): number {
  const texts = [webhookUrl, request.url, request.startLine, response?.startLine, error];
  return attemptFrame + Buffer.byteLength(JSON.stringify(texts));
}

function bytesSize({ request, response }: Pick<Exchange, "request" | "response">): number {
  const headers = Buffer.byteLength(JSON.stringify([request.headers, response?.headers]));
  return jsonSize(request.body) + jsonSize(response?.body ?? noBytes) + headers;
}

type Received<One> = { body: Uint8Array; headers: unknown; forwarded: One[] };

/** A received request, without the bodies of what was forwarded where they have no room. */
export function receivedWithin<One extends Exchange, Of extends Received<One>>(received: Of): Of {
  let left = maxAnswerBytes - receivedSize({ ...received, forwarded: [] });
  const forwarded = received.forwarded.map((exchange) => {
    left -= bytesSize(exchange);
    if (left > 0) return exchange;
    const { request, response } = exchange;
    return {
      ...exchange,
      request: { ...request, body: noBytes },
      response: response && { ...response, body: noBytes },
    };
  });
  return { ...received, forwarded };
}

export function receivedSize({ body, forwarded, ...rest }: Received<Exchange>): number {
  const frames = Buffer.byteLength(JSON.stringify(rest)) + forwarded.length * attemptFrame;
  return forwarded.reduce((size, one) => size + bytesSize(one), jsonSize(body) + frames);
}

/** Every attempt of a delivery sent the same bytes. */
const sizes = new WeakMap<Uint8Array, number>();

/** At most this long in JSON, as text or as base64; or more than an answer has room for. */
export function jsonSize(bytes: Uint8Array): number {
  if (bytes.length > maxAnswerBytes) return bytes.length;
  const known = sizes.get(bytes);
  if (known !== undefined) return known;
  let size = bytes.length * 0.34;
  for (const byte of bytes) size += byte < 0x20 ? 6 : byte === 0x22 || byte === 0x5c ? 2 : 1;
  sizes.set(bytes, size);
  return size;
}

export const noBytes = new Uint8Array();
