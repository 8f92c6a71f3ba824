import { expect, test } from "vitest";
import { storeFailure } from "./store-failure.ts";

const failure = (code: string) => Object.assign(new Error("driver"), { code });

test.each([
  "SQLITE_FULL",
  "SQLITE_READONLY",
  "SQLITE_READONLY_DBMOVED",
  "SQLITE_BUSY",
  "SQLITE_CORRUPT",
  "SQLITE_NOTADB",
  "SQLITE_IOERR_WRITE",
])("%s makes the store unavailable, in a sentence", (code) => {
  expect(storeFailure(failure(code))).toMatchObject({
    status: 503,
    code: "store_unavailable",
    data: { sqlite: code },
  });
});

test.each([
  failure("SQLITE_CONSTRAINT"),
  failure("ECONNRESET"),
  new Error("plain"),
  "SQLITE_FULL",
  null,
])("%s is not a failure of the store", (error) => {
  expect(storeFailure(error)).toBeNull();
});
