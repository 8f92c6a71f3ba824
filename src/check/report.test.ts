import { expect, test } from "vitest";
import { accept, receiver, type Answer } from "../../test/support/checked-receiver.ts";
import type { CheckResult } from "./outcome.ts";
import { proofText } from "./report.ts";
import { runCheck, type CheckOptions } from "./run-check.ts";

async function resultOf(
  id: string,
  { url, ...more }: Partial<CheckOptions> & { url: string },
): Promise<CheckResult> {
  const { checks } = await runCheck({ url, seed: 7, ...more, only: [id] });
  const result = checks.find((one) => one.id === id);
  if (result === undefined) throw new Error(`No result of ${id}.`);
  return result;
}

/** What the receiver answered, in the lines below a finding. */
const answersIn = (result: CheckResult): string[] =>
  proofText(result)
    .split("\n")
    .flatMap((line) => /^ *< (.{3})/.exec(line)?.[1] ?? []);

/** Accepts so many requests on each connection. */
function acceptsOnly(most: number): Answer {
  const used = new WeakMap<object, number>();
  return (message, response, done) => {
    const { socket } = response.req;
    const nth = (used.get(socket) ?? 0) + 1;
    used.set(socket, nth);
    if (nth > most) response.writeHead(500).end();
    else accept(message, response, done);
  };
}

test("below a finding are the requests that failed, and not those before them", async () => {
  const { url } = await receiver({ onMessage: acceptsOnly(15) });
  const result = await resultOf("keep-alive", { url });
  expect(result.detail).toContain("answered 500");
  expect(answersIn(result)).toEqual(["500", "500", "500"]);
});

test("below a forged message that was accepted is that message, and not one that was refused", async () => {
  const { url } = await receiver({
    onMessage(message, response, done) {
      // It takes an empty signature for one that is right.
      if (response.req.headers["x-signature"] === undefined) response.writeHead(401).end();
      else accept(message, response, done);
    },
  });
  const result = await resultOf("signature-missing", { url, secret: "s3cret" });
  expect(result.verdict).toBe("fail");
  expect(answersIn(result)).toEqual(["204"]);
});

test("what could not be sent has no lines of a request", async () => {
  const { url, close } = await receiver({});
  close();
  const proof = proofText(await resultOf("answers", { url }));
  expect(proof).toContain("< Nothing listens at");
  expect(proof).not.toContain(">");
});
