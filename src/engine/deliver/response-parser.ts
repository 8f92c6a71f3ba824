/**
 * Parses one HTTP/1 response from the bytes of a connection, split anywhere. Called by the
 * connection with each piece as it arrives. It never throws, and keeps at most a head of 64 KB and
 * the first 64 KB of a body (or as many bytes as the request asks for), whatever arrives.
 *
 * States:
 *   head                           up to the empty line
 *   body                           `remaining` bytes are missing
 *   untilClose                     everything until the connection ends
 *   chunkStart → chunkSize → chunkExtension → chunkBody → chunkEnd → chunkStart … → trailer
 *   complete | failed              nothing more is read
 */

import type { RecordedResponse } from "../ports.ts";
import { parseResponseHead } from "./response-head.ts";
import type { HeadProblem, ResponseHead } from "./response-head.ts";

type State =
  | "head"
  | "body"
  | "untilClose"
  | "chunkStart"
  | "chunkSize"
  | "chunkExtension"
  | "chunkBody"
  | "chunkEnd"
  | "trailer"
  | "complete"
  | "failed";

const headLimit = 64 * 1024;
const usualBodyKept = 64 * 1024;
const magic = "HTTP/";
const nothing = new Uint8Array(0);

const lineFeed = 10;
const carriageReturn = 13;

export class ResponseParser {
  /** Set in the state `failed`. */
  failure: { code: string; message: string } | null = null;

  #state: State = "head";
  /**
   * The end of a head or of trailers: a line feed with nothing but carriage returns since the last
   * one.
   */
  #lineIsEmpty = false;
  #headText = "";
  #headSize = 0;
  #trailerSize = 0;
  /** Null before the head was complete. */
  #status: number | null = null;
  #keepAlive = false;
  #keepAliveMs: number | null = null;
  #keepAliveMax = Infinity;
  #expected: number | null = null;
  #remaining = 0;
  #kept: Uint8Array = nothing;
  #keptSize = 0;
  #bodyLength = 0;
  readonly #bodyKept: number;
  /** The answer to a HEAD has the head of an answer with a body. */
  readonly #isBodiless: boolean;

  constructor({
    method,
    keepBody = usualBodyKept,
  }: { method?: string | undefined; keepBody?: number | undefined } = {}) {
    this.#bodyKept = keepBody;
    this.#isBodiless = method === "HEAD";
  }

  get complete(): boolean {
    return this.#state === "complete";
  }

  get headComplete(): boolean {
    return this.#status !== null;
  }

  /** How much of the response has arrived, as the end of a sentence. */
  get progress(): string {
    if (this.#status !== null) {
      const of = this.#expected === null ? "" : ` of ${this.#expected}`;
      return `after ${this.#bodyLength}${of} bytes of the response body`;
    }
    return this.#headSize > 0
      ? "in the middle of the response head"
      : "before any byte of the response arrived";
  }

  get keepAlive(): boolean {
    return this.#keepAlive;
  }

  get keepAliveMs(): number | null {
    return this.#keepAliveMs;
  }

  get keepAliveMax(): number {
    return this.#keepAliveMax;
  }

  /** What has arrived so far; null before the head was complete. */
  response(): RecordedResponse | null {
    if (this.#status === null) return null;
    return {
      status: this.#status,
      head: this.#headText,
      body: this.#kept.subarray(0, this.#keptSize),
      bodyLength: this.#bodyLength,
    };
  }

  /**
   * Parses the next `length` bytes and returns how many of them belong to the response. They are
   * copied: the buffer may be reused.
   */
  push(bytes: Buffer, length: number): number {
    let at = 0;
    while (at < length) {
      switch (this.#state) {
        case "head":
          at = this.#readHead(bytes, at, length);
          break;
        case "body":
        case "chunkBody":
        case "untilClose":
          at = this.#readBody(bytes, at, length);
          break;
        case "complete":
        case "failed":
          return at;
        default:
          this.#readChunkByte(bytes[at] as number);
          at += 1;
      }
    }
    return at;
  }

  /** The connection has ended. Only a body that runs until then is complete now. */
  end(): void {
    if (this.#state === "untilClose") this.#state = "complete";
  }

  #readHead(bytes: Buffer, from: number, length: number): number {
    let at = from;
    while (this.#headSize + at - from < magic.length && at < length) {
      if (bytes[at] !== magic.charCodeAt(this.#headSize + at - from)) {
        this.#fail(
          "not_http",
          `The response is not HTTP: it begins with ${quote(this.#headText + text(bytes, from, length))}.`,
        );
        return at;
      }
      at += 1;
    }
    const limit = Math.min(length, from + headLimit - this.#headSize);
    let lineIsEmpty = this.#lineIsEmpty;
    for (; at < limit; at += 1) {
      const byte = bytes[at];
      if (byte === lineFeed) {
        if (lineIsEmpty) {
          this.#headText += text(bytes, from, at + 1);
          this.#headEnded();
          return at + 1;
        }
        lineIsEmpty = true;
      } else if (byte === 0) {
        this.#fail("not_http", "The response head is malformed: it contains a NUL byte.");
        return at;
      } else if (byte !== carriageReturn) {
        lineIsEmpty = false;
      }
    }
    this.#lineIsEmpty = lineIsEmpty;
    this.#headText += text(bytes, from, at);
    this.#headSize += at - from;
    if (this.#headSize === headLimit)
      this.#fail("head_too_large", "The response head is larger than 64 KB.");
    return at;
  }

  #headEnded(): void {
    const parsed: ResponseHead | HeadProblem = parseResponseHead(this.#headText);
    if ("problem" in parsed) {
      this.#status = parsed.status;
      this.#fail("not_http", `The response head is malformed: ${parsed.problem}.`);
      return;
    }
    if (parsed.status === 101) {
      this.#status = parsed.status;
      this.#fail(
        "not_http",
        "The receiver switched to another protocol (101), which Hookyard did not request.",
      );
      return;
    }
    this.#lineIsEmpty = false;
    if (parsed.status < 200) {
      this.#headText = "";
      this.#headSize = 0;
      return;
    }
    this.#status = parsed.status;
    this.#keepAlive = parsed.keepAlive;
    this.#keepAliveMs = parsed.keepAliveMs;
    this.#keepAliveMax = parsed.keepAliveMax;
    if (this.#isBodiless) this.#state = "complete";
    else if (parsed.framing.by === "chunks") this.#state = "chunkStart";
    else if (parsed.framing.by === "close") this.#state = "untilClose";
    else if (parsed.framing.length === 0) this.#state = "complete";
    else {
      this.#state = "body";
      this.#expected = parsed.framing.length;
      this.#remaining = parsed.framing.length;
    }
  }

  #readBody(bytes: Buffer, from: number, length: number): number {
    const counted = this.#state !== "untilClose";
    const size = counted ? Math.min(length - from, this.#remaining) : length - from;
    this.#keep(bytes, from, size);
    this.#bodyLength += size;
    if (counted) {
      this.#remaining -= size;
      if (this.#remaining === 0) this.#state = this.#state === "body" ? "complete" : "chunkEnd";
    }
    return from + size;
  }

  #keep(bytes: Buffer, from: number, size: number): void {
    const wanted = Math.min(size, this.#bodyKept - this.#keptSize);
    if (wanted === 0) return;
    if (this.#kept.length < this.#keptSize + wanted) {
      // The usual body arrives in one piece and fits exactly; one in many pieces doubles its
      // buffer.
      const room =
        this.#keptSize === 0
          ? wanted
          : Math.min(this.#bodyKept, Math.max(this.#keptSize + wanted, this.#keptSize * 2));
      const larger = new Uint8Array(room);
      larger.set(this.#kept.subarray(0, this.#keptSize));
      this.#kept = larger;
    }
    this.#kept.set(bytes.subarray(from, from + wanted), this.#keptSize);
    this.#keptSize += wanted;
  }

  /** The chunked coding except its data: short, and parsed byte by byte. */
  #readChunkByte(byte: number): void {
    switch (this.#state) {
      case "chunkStart": {
        const digit = hexDigit(byte);
        if (digit === -1) return this.#failChunk("a chunk does not start with its size");
        this.#remaining = digit;
        this.#state = "chunkSize";
        return;
      }
      case "chunkSize": {
        const digit = hexDigit(byte);
        if (digit !== -1) {
          this.#remaining = this.#remaining * 16 + digit;
          if (!Number.isSafeInteger(this.#remaining))
            this.#failChunk("the size of a chunk is too large");
        } else if (byte === lineFeed) this.#chunkSizeEnded();
        else if (byte === 59 || byte === 32 || byte === 9 || byte === carriageReturn)
          this.#state = "chunkExtension";
        else this.#failChunk("the size of a chunk is not a hexadecimal number");
        return;
      }
      case "chunkExtension":
        if (byte === lineFeed) this.#chunkSizeEnded();
        return;
      case "chunkEnd":
        if (byte === lineFeed) this.#state = "chunkStart";
        else if (byte !== carriageReturn) this.#failChunk("a chunk is longer than its size");
        return;
      case "trailer":
        this.#trailerSize += 1;
        if (byte === lineFeed) {
          if (this.#lineIsEmpty) this.#state = "complete";
          this.#lineIsEmpty = true;
        } else if (byte !== carriageReturn) this.#lineIsEmpty = false;
        if (this.#trailerSize > headLimit)
          this.#fail("not_http", "The trailers of the response are larger than 64 KB.");
        return;
    }
  }

  #chunkSizeEnded(): void {
    this.#state = this.#remaining === 0 ? "trailer" : "chunkBody";
    this.#lineIsEmpty = true;
  }

  #failChunk(problem: string): void {
    this.#fail("not_http", `The chunked response body is malformed: ${problem}.`);
  }

  #fail(code: string, message: string): void {
    this.#state = "failed";
    this.failure = { code, message };
  }
}

function hexDigit(byte: number): number {
  if (byte >= 48 && byte <= 57) return byte - 48;
  const lower = byte | 32;
  return lower >= 97 && lower <= 102 ? lower - 87 : -1;
}

function text(bytes: Buffer, from: number, to: number): string {
  return bytes.toString("latin1", from, to);
}

/** The beginning of what arrived, safe to show. */
function quote(received: string): string {
  const shown = received
    .slice(0, 40)
    .replace(
      /[^\x20-\x7e]/g,
      (character) => `\\x${character.charCodeAt(0).toString(16).padStart(2, "0")}`,
    );
  return received.length > 40 ? `"${shown}…"` : `"${shown}"`;
}
