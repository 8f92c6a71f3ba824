import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { highestStatus } from "../../domain/http-status.ts";
import { ResponseParser } from "./response-parser.ts";

type Reading = {
  state: "complete" | "open" | string;
  status: number | undefined;
  head: string | undefined;
  body: string | undefined;
  bodyLength: number | undefined;
  keepAlive: boolean;
  used: number;
};

/** Feeds the pieces through one reused buffer, as a connection does. */
function read(pieces: Uint8Array[], { close = false } = {}): Reading {
  const parser = new ResponseParser();
  const buffer = Buffer.alloc(Math.max(1, ...pieces.map((piece) => piece.length)));
  let used = 0;
  for (const piece of pieces) {
    buffer.set(piece);
    used += parser.push(buffer, piece.length);
  }
  if (close) parser.end();
  const response = parser.response();
  return {
    state: parser.complete ? "complete" : (parser.failure?.message ?? "open"),
    status: response?.status,
    head: response?.head,
    body: response ? Buffer.from(response.body).toString("latin1") : undefined,
    bodyLength: response?.bodyLength,
    keepAlive: parser.keepAlive,
    used,
  };
}

function readText(text: string, options?: { close: boolean }): Reading {
  return read([Buffer.from(text, "latin1")], options);
}

function cut(bytes: Buffer, cuts: number[]): Buffer[] {
  const places = [
    0,
    ...cuts.map((place) => place % (bytes.length + 1)).sort((a, b) => a - b),
    bytes.length,
  ];
  return places.slice(1).map((place, index) => bytes.subarray(places[index], place));
}

describe("whole answers", () => {
  test("status, head and a counted body are read, and what follows is left alone", () => {
    const head = "HTTP/1.1 200 OK\r\nContent-Type:  text/plain \r\ncontent-length: 5\r\n\r\n";
    expect(readText(`${head}helloHTTP/1.1`)).toEqual({
      state: "complete",
      status: 200,
      head,
      body: "hello",
      bodyLength: 5,
      keepAlive: true,
      used: head.length + 5,
    });
  });

  test("a chunked body is put together, extensions and trailers are passed over", () => {
    const reading = readText(
      'HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, Chunked\r\n\r\n5;a="b"\r\nhello\r\n00A \r\n, world...\r\n0\r\nX-Trailer: 1\r\nY: 2\r\n\r\nrest',
    );
    expect(reading).toMatchObject({
      state: "complete",
      body: "hello, world...",
      bodyLength: 15,
      keepAlive: true,
    });
  });

  test.each([
    ["204", "HTTP/1.1 204 No Content\r\n\r\n"],
    ["304, whatever length it names", "HTTP/1.1 304 Not Modified\r\nContent-Length: 10\r\n\r\n"],
    ["a length of 0", "HTTP/1.1 500 \r\nContent-Length: 0\r\n\r\n"],
    ["equal lengths", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nContent-Length: 0, 0\r\n\r\n"],
  ])("no body is waited for: %s", (_, text) => {
    expect(readText(text)).toMatchObject({
      state: "complete",
      body: "",
      bodyLength: 0,
      keepAlive: true,
    });
  });

  test("an answer without length runs until the connection ends", () => {
    const text = "HTTP/1.1 200\r\n\r\nsome body";
    expect(readText(text)).toMatchObject({
      state: "open",
      status: 200,
      body: "some body",
      bodyLength: 9,
    });
    expect(readText(text, { close: true })).toMatchObject({
      state: "complete",
      body: "some body",
      keepAlive: false,
    });
  });

  test("the end of the connection completes nothing else", () => {
    expect(
      readText("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell", { close: true }),
    ).toMatchObject({ state: "open", bodyLength: 4 });
    expect(
      readText("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", {
        close: true,
      }).state,
    ).toBe("open");
    expect(readText("HTTP/1.1 200 OK\r\n", { close: true })).toMatchObject({
      state: "open",
      status: undefined,
    });
  });

  test("informational answers are skipped", () => {
    const final = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n";
    const reading = readText(
      `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n${final}ok`,
    );
    expect(reading).toMatchObject({ state: "complete", status: 200, head: final, body: "ok" });
  });

  test("bare line feeds and folded lines are understood, and kept as they came", () => {
    const head = "HTTP/1.1 200 OK\nX-Folded: one\n\t two\nContent-Length:\n\t 2\n\n";
    expect(readText(`${head}ok`)).toMatchObject({ state: "complete", head, body: "ok" });
  });

  test("bytes beyond ASCII are kept one to one", () => {
    expect(
      readText("HTTP/1.1 200 Gr\xfc\xdfe\r\nX: \xa0\xe9\r\nContent-Length: 0\r\n\r\n"),
    ).toMatchObject({
      head: "HTTP/1.1 200 Gr\xfc\xdfe\r\nX: \xa0\xe9\r\nContent-Length: 0\r\n\r\n",
    });
  });

  test("of a large body the first 64 KB are kept and the rest is counted", () => {
    const body = Buffer.alloc(200_000, "abcdefg");
    const reading = read([
      Buffer.from("HTTP/1.1 200 OK\r\nContent-Length: 200000\r\n\r\n"),
      body.subarray(0, 65_000),
      body.subarray(65_000),
    ]);
    expect(reading).toMatchObject({ state: "complete", bodyLength: 200_000 });
    expect(reading.body === body.toString("latin1", 0, 65_536)).toBe(true);
  });
});

describe("whether the connection can be used again", () => {
  test.each([
    ["HTTP/1.1 200 OK\r\n", true],
    ["HTTP/1.1 200 OK\r\nConnection: Close\r\n", false],
    ["HTTP/1.1 200 OK\r\nConnection: x\r\nConnection: y , close\r\n", false],
    ["HTTP/1.1 200 OK\r\nConnection: closer\r\n", true],
    ["HTTP/1.0 200 OK\r\n", false],
    ["HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\n", true],
    ["HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\n", false],
  ])("%j: %s", (head, expected) => {
    expect(readText(`${head}Content-Length: 0\r\n\r\n`, { close: true })).toMatchObject({
      state: "complete",
      keepAlive: expected,
    });
  });

  test("a length beside the chunked coding is overruled and ends the connection", () => {
    const reading = readText(
      "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    );
    expect(reading).toMatchObject({ state: "complete", body: "hello", keepAlive: false });
  });

  test("the receiver's own idle limit is read", () => {
    const parser = new ResponseParser();
    const bytes = Buffer.from("HTTP/1.1 204 No Content\r\nKeep-Alive: max=5, timeout=2\r\n\r\n");
    parser.push(bytes, bytes.length);
    expect(parser.keepAliveMs).toBe(2_000);
  });
});

describe("what is not an answer", () => {
  test.each([
    ["another protocol", "SSH-2.0-OpenSSH_9\r\n", 'begins with "SSH-2.0-OpenSSH_9\\x0d\\x0a"'],
    ["a later garbage byte", "HTTQ", 'begins with "HTTQ"'],
    ["another version", "HTTP/2 200\r\n\r\n", "not an HTTP/1 status line"],
    ["a status that is no number", "HTTP/1.1 2x0 OK\r\n\r\n", "not an HTTP/1 status line"],
    ["a status of four digits", "HTTP/1.1 2000 OK\r\n\r\n", "not an HTTP/1 status line"],
    ["a status below 100", "HTTP/1.1 099 Low\r\n\r\n", "not an HTTP/1 status line"],
    ["a NUL byte", "HTTP/1.1 200 OK\r\nX: \0\r\n\r\n", "NUL"],
    ["a carriage return inside a line", "HTTP/1.1 200 OK\r\nX: a\rb\r\n\r\n", "carriage return"],
    ["no colon", "HTTP/1.1 200 OK\r\nA: b\r\nnonsense\r\n\r\n", "header line 2 has no colon"],
    ["a blank in a name", "HTTP/1.1 200 OK\r\nContent-Length : 5\r\n\r\n", "name of header 1"],
    ["a fold without a header", "HTTP/1.1 200 OK\r\n X: y\r\n\r\n", "folded"],
    ["a protocol switch", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n", "101"],
    [
      "different lengths",
      "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
      "differ",
    ],
    ["different lengths in one", "HTTP/1.1 200 OK\r\nContent-Length: 5, 6\r\n\r\n", "differ"],
    ["a negative length", "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", "not a number"],
    ["a length in other digits", "HTTP/1.1 200 OK\r\nContent-Length: 0x10\r\n\r\n", "not a number"],
    ["an empty length", "HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\n", "not a number"],
    [
      "a huge length",
      "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n",
      "too large",
    ],
    ["a chunk without size", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\r\n", "size"],
    ["a negative chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-5\r\n", "size"],
    [
      "a chunk size that is no number",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5g\r\n",
      "hexadecimal",
    ],
    [
      "a huge chunk",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n",
      "too large",
    ],
    [
      "a chunk longer than it says",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nabc\r\n",
      "longer",
    ],
    ["too many headers", `HTTP/1.1 200 OK\r\n${"a: b\r\n".repeat(1_001)}\r\n`, "more than 1000"],
  ])("%s", (_, text, message) => {
    expect(readText(text).state).toContain(message);
  });

  test("the head is there when only its framing is wrong", () => {
    expect(readText("HTTP/1.1 502 Bad\r\nContent-Length: x\r\n\r\n")).toMatchObject({
      status: 502,
      body: "",
      bodyLength: 0,
    });
  });

  test("a head ends at 64 KB, trailers too", () => {
    const piece = Buffer.alloc(1_000, "x");
    const pieces = Array.from({ length: 100 }, () => piece);
    const endless = read([Buffer.from("HTTP/1.1 200 OK\r\nX: "), ...pieces]);
    expect(endless).toMatchObject({
      state: "The response head is larger than 64 KB.",
      used: 65_536,
    });
    const trailers = read([
      Buffer.from("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n"),
      ...pieces,
    ]);
    expect(trailers.state).toContain("trailers");
  });
});

describe("properties", () => {
  const token = fc.stringMatching(/^[A-Za-z][A-Za-z0-9-]{0,12}$/).map((name) => `X-${name}`);
  const value = fc.stringMatching(/^[!-~\xa0-\xff](?:[ -~\xa0-\xff]{0,20}[!-~\xa0-\xff])?$/);
  const body = fc.uint8Array({ maxLength: 300 });

  const answer = fc
    .record({
      status: fc
        .integer({ min: 200, max: highestStatus })
        .filter((status) => status !== 204 && status !== 304),
      headers: fc.array(fc.tuple(token, value), { maxLength: 5 }),
      body,
      framing: fc.constantFrom("length", "chunks", "close"),
      chunkSize: fc.integer({ min: 1, max: 80 }),
      newline: fc.constantFrom("\r\n", "\n"),
      informational: fc.boolean(),
    })
    .map(({ status, headers, body, framing, chunkSize, newline, informational }) => {
      const lines = [
        `HTTP/1.1 ${status} Reason`,
        ...headers.map(([name, value]) => `${name}: ${value}`),
      ];
      const parts: Buffer[] = [];
      if (framing === "length") lines.push(`Content-Length: ${body.length}`);
      if (framing === "chunks") lines.push("Transfer-Encoding: chunked");
      const head = lines.join(newline) + newline + newline;
      if (framing === "chunks") {
        for (let at = 0; at < body.length; at += chunkSize) {
          const piece = body.subarray(at, at + chunkSize);
          parts.push(
            Buffer.from(`${piece.length.toString(16)};x=y\r\n`),
            Buffer.from(piece),
            Buffer.from("\r\n"),
          );
        }
        parts.push(Buffer.from("0\r\nT: u\r\n\r\n"));
      } else parts.push(Buffer.from(body));
      const before = informational ? "HTTP/1.1 102 Processing\r\nA: b\r\n\r\n" : "";
      return {
        bytes: Buffer.concat([Buffer.from(before + head, "latin1"), ...parts]),
        head,
        body,
        status,
      };
    });

  test("any split of a valid answer gives the same result, and the right one", () => {
    fc.assert(
      fc.property(
        answer,
        fc.array(fc.nat({ max: 2_000 }), { maxLength: 12 }),
        ({ bytes, head, body, status }, cuts) => {
          const whole = read([bytes], { close: true });
          expect(whole).toMatchObject({
            state: "complete",
            status,
            head,
            body: Buffer.from(body).toString("latin1"),
            used: bytes.length,
          });
          expect(read(cut(bytes, cuts), { close: true })).toEqual(whole);
          expect(read(cut(bytes, [...bytes.keys()]), { close: true })).toEqual(whole);
        },
      ),
      { numRuns: 300 },
    );
  });

  test("an answer that stops early is never taken for whole", () => {
    fc.assert(
      fc.property(body, fc.boolean(), fc.nat(), (body, chunked, place) => {
        const text = chunked
          ? `Transfer-Encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${body.length === 0 ? "\r\n" : `${Buffer.from(body).toString("latin1")}\r\n0\r\n\r\n`}`
          : `Content-Length: ${body.length}\r\n\r\n${Buffer.from(body).toString("latin1")}`;
        const bytes = Buffer.from(`HTTP/1.1 200 OK\r\n${text}`, "latin1");
        expect(read([bytes]).state).toBe("complete");
        expect(read([bytes.subarray(0, place % bytes.length)], { close: true }).state).toBe("open");
      }),
    );
  });

  test("random bytes, also behind a valid beginning, never throw and never use more than there is", () => {
    const beginnings = [
      "",
      "HTTP/1.1 ",
      "HTTP/1.1 200 OK\r\n",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
      "HTTP/1.1 200 OK\r\nContent-Length: ",
    ];
    const noise = fc.oneof(
      fc.uint8Array({ maxLength: 400 }),
      fc
        .string({ unit: fc.constantFrom("\r", "\n", ":", " ", "0", "a", ";", "\0", "HTTP/1.1 1") })
        .map((text) => Buffer.from(text)),
    );
    fc.assert(
      fc.property(
        fc.constantFrom(...beginnings),
        noise,
        fc.array(fc.nat({ max: 500 }), { maxLength: 5 }),
        (beginning, noise, cuts) => {
          const bytes = Buffer.concat([Buffer.from(beginning), noise]);
          const whole = read([bytes], { close: true });
          const split = read(cut(bytes, cuts), { close: true });
          expect(whole.used).toBeLessThanOrEqual(bytes.length);
          expect({ ...split, state: "" }).toEqual({ ...whole, state: "" });
          expect(split.state === "complete").toBe(whole.state === "complete");
        },
      ),
      { numRuns: 500 },
    );
  });
});

test.each([
  [40, `"${"x".repeat(40)}"`],
  [41, `"${"x".repeat(40)}…"`],
])("of %i characters that are not HTTP, the failure shows at most 40", (length, shown) => {
  expect(readText("x".repeat(length), { close: true }).state).toContain(`begins with ${shown}.`);
});

test("what follows an informational answer has to be one too, and the head of what is none is kept", () => {
  const first = "HTTP/1.1 100 Continue\r\n\r\n";
  expect(readText(`${first}SSH-2.0\r\n\r\n`).state).toContain('begins with "SSH-2.0');
  for (const before of ["", first]) expect(readText(`${before}HTTP/\r\n`).state).toBe("open");
  const switched = "HTTP/1.1 101 Switching\r\nUpgrade: x\r\n\r\n";
  expect(readText(switched)).toMatchObject({ status: 101, head: switched });
  const wrong = "HTTP/1.1 502 Bad\r\nContent-Length: x\r\n\r\n";
  expect(readText(wrong)).toMatchObject({ status: 502, head: wrong });
});

const chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

test.each(["5\r\n", "5\n", "5;a=1\r\n", "5 \r\n", "5\t;a\n", "5\r\r\n", "05\r\n"])(
  "a chunk may begin with %j",
  (line) => {
    const text = `${chunked}${line}hello\r\n0\r\n\r\n`;
    expect(readText(text)).toMatchObject({ state: "complete", body: "hello", used: text.length });
  },
);

test("the size of a chunk is in hexadecimal digits and nothing else", () => {
  for (const [place, digit] of "0123456789abcdef".split("").entries())
    for (const spelling of [digit, digit.toUpperCase()]) {
      const text = `${chunked}1${spelling}\r\n${"x".repeat(16 + place)}\r\n0\r\n\r\n`;
      expect(readText(text)).toMatchObject({ state: "complete", bodyLength: 16 + place });
      const bytes = place === 0 ? "\r\n" : `${"x".repeat(place)}\r\n0\r\n\r\n`;
      expect(readText(`${chunked}${spelling}\r\n${bytes}`)).toMatchObject({
        ...{ state: "complete", bodyLength: place },
      });
    }
  for (const other of ["/", ":", "@", "G", "`", "g", "-", "\u00c1"]) {
    expect(readText(`${chunked}${other}`).state).toContain("does not start with its size");
    expect(readText(`${chunked}1${other}`).state).toContain("not a hexadecimal number");
  }
});

test.each([
  ["1fffffffffffff", "open"],
  ["20000000000000", "too large"],
])("a chunk of %s bytes: %s", (size, state) => {
  expect(readText(`${chunked}${size}\r\n`).state).toContain(state);
});

test("after a chunk comes the end of its line, and after the last one trailers up to an empty line", () => {
  expect(readText(`${chunked}1\r\na\n0\n\n`)).toMatchObject({ state: "complete", body: "a" });
  expect(readText(`${chunked}1\r\nab`).state).toContain("longer than its size");
  for (const trailers of ["\r\n", "A: b\r\n\r\n", "A: b\n\n", "\rA\r\n\r\n"]) {
    const text = `${chunked}0\r\n${trailers}`;
    expect(readText(`${text}more`)).toMatchObject({ state: "complete", used: text.length });
    expect(readText(text.slice(0, -1)).state).toBe("open");
  }
  for (const [size, state] of [
    [65_536, "open"],
    [65_537, "larger than 64 KB"],
  ] as const)
    expect(readText(`${chunked}0\r\n${"x".repeat(size)}`).state).toContain(state);
});

test("a head of exactly 64 KB is too large, also in pieces, and one that ends there is not", () => {
  const begin = "HTTP/1.1 204 No\r\nX: ";
  const fill = (size: number): string => "x".repeat(size - begin.length);
  const tooLarge = "The response head is larger than 64 KB.";
  expect(readText(begin + fill(65_535)).state).toBe("open");
  expect(readText(begin + fill(65_536)).state).toBe(tooLarge);
  expect(readText(`${begin}${fill(65_532)}\r\n\r\n`)).toMatchObject({ state: "complete" });
  expect(readText(`${begin}${fill(65_533)}\r\n\r\n`).state).toBe(tooLarge);
  const bytes = Buffer.from(begin + fill(65_536));
  expect(read(cut(bytes, [4, 5, 60_000, 65_535])).state).toBe(tooLarge);
});

test.each<[sizes: number[], buffer: number]>([
  [[10], 10],
  [[10, 10], 20],
  [[10, 1], 20],
  [[10, 1, 9, 1], 40],
  [[10, 100], 110],
  [[40_000, 30_000], 65_536],
  [[65_536, 10], 65_536],
  [[70_000], 65_536],
])("a body in pieces of %j is kept in %i bytes", (sizes, buffer) => {
  const parser = new ResponseParser();
  const head = Buffer.from("HTTP/1.1 200 OK\r\n\r\n");
  parser.push(head, head.length);
  for (const size of sizes) parser.push(Buffer.alloc(size, "x"), size);
  expect(parser.response()?.body.buffer.byteLength).toBe(buffer);
  const all = sizes.reduce((sum, size) => sum + size, 0);
  expect(parser.response()?.bodyLength).toBe(all);
  expect(parser.response()?.body.length).toBe(Math.min(all, 65_536));
});

test("as much of a body is kept as is asked for, and it is said how much has come", () => {
  const parser = new ResponseParser({ keepBody: 3 });
  const progress: string[] = [];
  for (const piece of ["H", "TTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", "ab", "cdef"]) {
    progress.push(parser.progress);
    parser.push(Buffer.from(piece), piece.length);
  }
  expect([...progress, parser.progress]).toEqual([
    "before any byte of the response arrived",
    "in the middle of the response head",
    "after 0 of 9 bytes of the response body",
    "after 2 of 9 bytes of the response body",
    "after 6 of 9 bytes of the response body",
  ]);
  expect(Buffer.from(parser.response()?.body ?? []).toString()).toBe("abc");
  const endless = new ResponseParser();
  const head = Buffer.from("HTTP/1.1 200 OK\r\n\r\nabc");
  endless.push(head, head.length);
  expect(endless.progress).toBe("after 3 bytes of the response body");
});

test("what a receiver promises is known once its head is whole", () => {
  const parser = new ResponseParser();
  expect([parser.keepAlive, parser.keepAliveMs, parser.keepAliveMax]).toEqual([
    ...[false, null],
    Infinity,
  ]);
  const head = Buffer.from("HTTP/1.1 204 No\r\nKeep-Alive: timeout=5, max=7\r\n\r\n");
  parser.push(head, head.length);
  expect([parser.keepAlive, parser.keepAliveMs, parser.keepAliveMax]).toEqual([true, 5000, 7]);
});
