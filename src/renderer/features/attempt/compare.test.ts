import { describe, expect, test } from "vitest";
import { sign, signatureKey } from "../../../domain/signature.ts";
import { compareWithReceiver, excerpts, tried, workaround } from "./compare.ts";

const secret = "s3cret";
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const text = `{"b":"Café <1>","a":[1.5,2]}`;
const expected = sign(signatureKey(secret), bytes(text));
const compare = (given: { digest?: string; receiverBody?: string }) =>
  compareWithReceiver({
    body: bytes(text),
    secret,
    expected,
    digest: "",
    receiverBody: "",
    ...given,
  });
const digestOf = (body: string): string => sign(signatureKey(secret), bytes(body));

describe("a comparison with a receiver", () => {
  test("is not made while nothing was given", () => {
    expect(compare({})).toBeNull();
    expect(compare({ digest: "  " })).toBeNull();
  });

  test("finds from a digest alone the body that the receiver signs", () => {
    const escaped = text.replace("é", "\\u00e9");
    const comparison = compare({ digest: digestOf(escaped) });
    expect(comparison?.explanation.cause).toBe("escaped_non_ascii");
    expect(comparison?.theirs).toEqual(bytes(escaped));
    expect([...(comparison?.hits ?? [])]).toEqual(["escaped_non_ascii"]);
  });

  test("names each way in which a given body differs", () => {
    const comparison = compare({ receiverBody: `{"a": [1.5, 2], "b": "Café \\u003c1\\u003e"}\n` });
    expect(comparison?.hits).toEqual(
      new Set(["key_order", "spaces", "escaped_html", "trailing_newline"]),
    );
  });

  test("says that there is no difference", () => {
    expect(compare({ digest: expected })?.explanation.cause).toBe("none");
    expect(compare({ receiverBody: text })?.explanation.cause).toBe("none");
  });

  test("of a batch says that the receiver took all of it, and respells the first element", () => {
    const batch = `[${text},{"n":2}]`;
    const ofBatch = (given: { digest?: string; receiverBody?: string }) =>
      compareWithReceiver({
        ...{ body: bytes(batch), signed: bytes(text), secret, expected },
        ...{ digest: "", receiverBody: "", ...given },
      });
    expect(ofBatch({ digest: digestOf(batch) })?.explanation.cause).toBe("whole_batch");
    expect(ofBatch({ receiverBody: batch })?.explanation.cause).toBe("whole_batch");
    expect(ofBatch({ digest: expected })?.explanation.cause).toBe("none");
    const escaped = text.replace("é", "\\u00e9");
    expect(ofBatch({ digest: digestOf(escaped) })?.theirs).toEqual(bytes(escaped));
  });

  test("knows no body of theirs when the secret is another one", () => {
    const comparison = compare({ digest: sign(signatureKey("other"), bytes(text)) });
    expect(comparison).toMatchObject({ theirs: null, explanation: { cause: "wrong_secret" } });
  });

  test("lists only causes that can be found", () => {
    const other = digestOf(text.replace("é", "\\u00e9")).toUpperCase();
    expect(tried.map(({ cause }) => cause)).toContain(
      compare({ digest: other })?.explanation.cause,
    );
  });
});

describe("the bytes at the first difference", () => {
  const marked = (ours: string, theirs: string) => {
    const found = excerpts(bytes(ours), bytes(theirs));
    return (
      found &&
      [found.ours, found.theirs].map(({ from, bytes: part, start, end }) => [
        from,
        new TextDecoder().decode(part.subarray(start, end)),
      ])
    );
  };

  test("are those that stand for the same thing", () => {
    expect(marked(`{"a":"Café Löwe"}`, `{"a":"Caf\\u00e9 Löwe"}`)).toEqual([
      [5, "é"],
      [5, "\\u00e9"],
    ]);
    expect(marked(`{"a":1,"b":2}`, `{"a": 1,"b":2}`)).toEqual([
      [1, ""],
      [1, " "],
    ]);
  });

  test("may be missing on one side", () => {
    expect(marked(`{"a":1}`, `{"a":1}\n`)).toEqual([
      [3, ""],
      [3, "\n"],
    ]);
    expect(marked("abc", "abc")).toBeNull();
  });

  test("are the first alone when nothing after them is alike", () => {
    expect(marked("aaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "zyxwvutsrqponmlkjihgfedcb")).toEqual([
      [0, "a"],
      [0, "z"],
    ]);
  });
});

test("a way out is offered where a library has an option for it", () => {
  expect(workaround(new Set(["escaped_non_ascii"]))?.code).toContain("ensure_ascii=False");
  expect(workaround(new Set(["escaped_html", "spaces"]))?.language).toBe("Go");
  expect(workaround(new Set(["wrong_secret"]))).toBeNull();
});
