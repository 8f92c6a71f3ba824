import { expect, test } from "vitest";
import { isProblem } from "../../domain/problem.ts";
import { pixelBody } from "./pixel.ts";

const bodyOf = (query: string): unknown => {
  const body = pixelBody(new URLSearchParams(query));
  return isProblem(body) ? body.code : JSON.parse(body.toString());
};

const nested = (parts: number): string => Array.from({ length: parts }, () => "a").join(".");

test("a dot in the name of a parameter makes an object, twenty levels deep and no deeper", () => {
  expect(bodyOf("a.b.c=1&a.b.d=2&a.e=3&f=4")).toEqual({
    a: { b: { c: "1", d: "2" }, e: "3" },
    f: "4",
  });
  expect(bodyOf("a=1&a.b=2")).toEqual({ a: { b: "2" } });
  expect(bodyOf("__proto__.a=1&toString.b=2")).toEqual({
    ["__proto__"]: { a: "1" },
    toString: { b: "2" },
  });
  const deepest = bodyOf(`${nested(20)}=1`);
  expect(JSON.stringify(deepest)).toBe(`${'{"a":'.repeat(20)}"1"${"}".repeat(20)}`);
  expect(bodyOf(`${nested(21)}=1`)).toEqual({ [nested(21)]: "1" });
});

test("data is an object in JSON, or in base64 with its plus as a space, and nothing else", () => {
  const text = JSON.stringify({ event: "A>>>?" });
  expect(bodyOf(`data=${encodeURIComponent(` ${text}`)}`)).toEqual({ event: "A>>>?" });
  expect(bodyOf(`data=${Buffer.from(text).toString("base64")}`)).toEqual({ event: "A>>>?" });
  expect(bodyOf(`data=${Buffer.from(` ${text}`).toString("base64url")}`)).toEqual({
    event: "A>>>?",
  });
  for (const wrong of ["[1]", btoa("[1]"), "", "%%%"])
    expect(bodyOf(`data=${encodeURIComponent(wrong)}`)).toBe("invalid_pixel_data");
});
