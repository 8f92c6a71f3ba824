import { describe, expect, test } from "vitest";
import { jsonLines } from "../../kit/json-tokens.ts";
import { payloadChanges } from "./payload-changes.ts";

function changesOf(raw: string, payload: string) {
  const changes = payloadChanges(
    { text: raw, lines: jsonLines(raw) ?? [] },
    { text: payload, lines: jsonLines(payload) ?? [] },
  );
  if (changes === null) return null;
  const { marks, leftOut } = changes;
  return {
    leftOut,
    marks: Object.fromEntries(
      [...marks].map(([place, mark]) => [payload.slice(place, place + 6), mark]),
    ),
  };
}

describe("a payload beside its message", () => {
  test("has nothing to say of what is the same, in whatever order", () => {
    expect(
      changesOf(`{"b": [1, {"c":null}], "a":"x", "e":{ }}`, `{"a":"x","e":{},"b":[1,{"c":null}]}`),
    ).toEqual({
      leftOut: [],
      marks: {},
    });
  });

  test("is not compared when it is a batch", () => {
    expect(changesOf(`{"a":"x","b":1}`, `[{"a":"x","b":1},{"a":"y"}]`)).toBeNull();
  });

  test("marks members that were added, with all that is in them", () => {
    expect(
      changesOf(
        `{"context":{"locale":"de"}}`,
        `{"version":1,"context":{"locale":"de","library":{"name":"go"}}}`,
      )?.marks,
    ).toEqual({
      '1,"con': { kind: "added" },
      '{"name': { kind: "added" },
      '"go"}}': { kind: "added" },
    });
  });

  test("marks numbers and strings that are spelled in another way", () => {
    expect(
      changesOf(
        `{"total":184.50,"big":12345678901234567890,"at":"2026-11-21T15:50:55+0000","name":"Caf\\u00e9"}`,
        `{"total":184.5,"big":12345678901234567000,"at":"2026-11-21T15:50:55.000Z","name":"Café"}`,
      )?.marks,
    ).toEqual({
      "184.5,": { kind: "changed", was: "184.50" },
      "123456": { kind: "changed", was: "12345678901234567890" },
      '"2026-': { kind: "changed", was: "…T15:50:55+0000" },
      '"Café"': { kind: "changed", was: "Caf\\u00e9" },
    });
  });

  test("marks a value of another kind, and keeps long ones short", () => {
    expect(
      changesOf(
        `{"traits":null,"properties":[1],"long":"${"x".repeat(500)}"}`,
        `{"traits":{},"properties":{"a":1},"long":1}`,
      )?.marks,
    ).toEqual({
      '{},"pr': { kind: "changed", was: "null" },
      '{"a":1': { kind: "changed", was: "an array" },
      "1}": { kind: "changed", was: `"${"x".repeat(119)}…` },
    });
  });

  test("knows the members that alias renames", () => {
    expect(
      changesOf(`{"userId":"u","previousId":"p"}`, `{"Previous ID":"p","User ID":"u"}`),
    ).toEqual({
      leftOut: [],
      marks: {
        '"p","U': { kind: "changed", was: "previousId" },
        '"u"}': { kind: "changed", was: "userId" },
      },
    });
  });

  test("names the members that were left out", () => {
    expect(
      changesOf(`{"type":"track","sentAt":"x","_metadata":{}}`, `{"type":"track"}`)?.leftOut,
    ).toEqual(["sentAt", "_metadata"]);
  });

  test("compares with the last of several members of one name, as a parser does", () => {
    expect(changesOf(`{"a":1,"a":2}`, `{"a":2}`)?.marks).toEqual({});
  });
});
