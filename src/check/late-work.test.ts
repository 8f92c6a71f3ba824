/** Right receivers that are easily taken for wrong ones, and wrong ones that hide it. */

import { setTimeout as wait } from "node:timers/promises";
import { expect, test } from "vitest";
import { accept, receiver, verdicts } from "../../test/support/checked-receiver.ts";

test("a receiver that refuses a copy of a message in progress serves a hundred connections", async () => {
  const working = new Set<string>();
  const { url } = await receiver({
    async onMessage(message, response, done) {
      const { messageId = "" } = message;
      if (working.has(messageId)) return void response.writeHead(503).end();
      working.add(messageId);
      await wait(20);
      accept(message, response, done);
    },
  });
  expect(await verdicts(url, { only: ["many-connections"] })).toMatchObject({
    "many-connections": { verdict: "pass" },
  });
});
