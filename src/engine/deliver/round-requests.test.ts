import { createHmac } from "node:crypto";
import { expect, test } from "vitest";
import type { Destination } from "../../domain/configuration.ts";
import { headersFor, mappedHeaders } from "./round-requests.ts";

const secretly = (sharedSecret: string | null) => ({ sharedSecret }) as Destination;

test("a webhook gets the headers of its destination, signed where that has a secret, and its own", () => {
  const webhook = { headers: { "X-Own": "1" } };
  const usual = [
    ["User-Agent", "Acme/1.0"],
    ["Content-Type", "application/json"],
  ];
  expect(headersFor(secretly(null), webhook, "Acme")).toEqual([...usual, ["X-Own", "1"]]);
  expect(headersFor(secretly("s"), webhook, "Acme")).toEqual([
    ...usual,
    ["X-Signature", { secret: "s" }],
    ["X-Own", "1"],
  ]);
});

test.each<[secret: string | null, signed: string | null, hasBody: boolean, left: string[]]>([
  [null, "{}", true, ["user-agent: Acme (Actions)", "content-type: application/json"]],
  [null, null, false, ["user-agent: Acme (Actions)"]],
  ["s", null, false, ["user-agent: Acme (Actions)"]],
  [
    "s",
    "{}",
    true,
    [
      "user-agent: Acme (Actions)",
      `x-signature: ${createHmac("sha1", "s").update("{}").digest("hex")}`,
      "content-type: application/json",
    ],
  ],
])("a mapping's request, with the secret %j over %j, has the headers it is given", (...given) => {
  const [secret, signed, hasBody, left] = given;
  const mapped = { headers: [], signed: signed === null ? null : Buffer.from(signed) };
  const headersOf = (headers: [string, string][]): string[] =>
    mappedHeaders({ ...mapped, headers }, secretly(secret), "Acme", hasBody).map((each) =>
      each.join(": "),
    );
  expect(headersOf([])).toEqual(left);
  const own: [string, string][] = [
    ["user-agent", "undefined"],
    ["x-signature", "mine"],
    ["content-type", "text/plain"],
  ];
  expect(headersOf(own)).toEqual([
    "x-signature: mine",
    `content-type: ${hasBody ? "application/json" : "text/plain"}`,
  ]);
});
