/**
 * Reads a request's body under the limits, also when it arrives without a length or compressed. A body over its limit is
 * refused at once, and read to its end all the same without being kept: not every client looks for an answer while it sends.
 */

import type { IncomingMessage } from "node:http";
import { brotliDecompress, gunzip, inflate, inflateRaw, type InputType } from "node:zlib";
import { problem, type Problem } from "../../domain/problem.ts";

/** 500 KB a request, before and after decompression. */
export const maxRequestBytes = 512_000;

const tooLarge = (): Problem =>
  problem(
    400,
    "request_too_large",
    `The request is over the limit of ${maxRequestBytes} bytes, counted after decompression too. Send smaller batches.`,
  );

/** The bytes as sent, or null when the client went away. */
export function readBody(request: IncomingMessage): Promise<Buffer | Problem | null> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let size = 0;
    let refused = false;
    const refuse = (): void => {
      refused = true;
      chunks.length = 0;
      resolve(tooLarge());
    };
    if (Number(request.headers["content-length"] ?? 0) > maxRequestBytes) refuse();
    request.on("data", (chunk: Buffer) => {
      if (refused) return;
      size += chunk.length;
      if (size > maxRequestBytes) refuse();
      else chunks.push(chunk);
    });
    request.on("end", () => resolve(chunks.length === 1 ? (chunks[0] ?? null) : Buffer.concat(chunks)));
    request.on("error", () => resolve(null));
    request.on("close", () => resolve(null));
  });
}

type Decompress = (input: InputType, options: { maxOutputLength: number }, callback: (error: Error | null, output: Buffer) => void) => void;

export async function decompress(body: Buffer, encoding: string | undefined): Promise<Buffer | Problem> {
  switch (encoding?.trim().toLowerCase()) {
    case undefined:
    case "":
    case "identity":
      return body;
    case "gzip":
    case "x-gzip":
      return run(gunzip, body, "gzip");
    case "deflate":
      // Some clients send the bare deflate stream, without the two bytes of zlib's header.
      return run(hasZlibHeader(body) ? inflate : inflateRaw, body, "deflate");
    case "br":
      return run(brotliDecompress, body, "br");
    default:
      return problem(
        400,
        "unsupported_encoding",
        `Content-Encoding ${JSON.stringify(encoding)} is not known here. Send gzip, deflate, br, or no compression.`,
      );
  }
}

function run(how: Decompress, body: Buffer, name: string): Promise<Buffer | Problem> {
  return new Promise((resolve) => {
    how(body, { maxOutputLength: maxRequestBytes }, (error, output) => {
      if (error === null) resolve(output);
      else if ((error as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE") resolve(tooLarge());
      else resolve(problem(400, "invalid_compression", `The body is not ${name}, as its Content-Encoding says: ${error.message}.`));
    });
  });
}

function hasZlibHeader(body: Buffer): boolean {
  const [first = 0, second = 0] = body;
  return (first & 0x0f) === 8 && (first * 256 + second) % 31 === 0;
}
