import { expect, test } from "vitest";
import { libraryFromUserAgent } from "./accept.ts";

test.each([
  ["analytics-go (version: 2.1.0)", { name: "analytics-go", version: "2.1.0" }],
  ["analytics-python/2.2.0", { name: "analytics-python", version: "2.2.0" }],
  ["analytics-node-next/latest", { name: "analytics-node-next", version: "latest" }],
  ["curl/8.5.0", { name: "curl", version: "8.5.0" }],
  ["Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36", { name: "Mozilla", version: "5.0" }],
  ["  my/2 client  ", { name: "my", version: "2" }],
  ["node", null],
  ["plain/", null],
  ["", null],
  ["(version: 1)", null],
  [undefined, null],
])("the User-Agent %j names the library %j", (userAgent, expected) => {
  expect(libraryFromUserAgent(userAgent)).toEqual(expected);
});
