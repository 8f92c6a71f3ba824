import { createServer } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { describe, expect, test } from "vitest";
import { deliveryIds } from "../../domain/ids.ts";
import { documented, plannedRounds } from "../../domain/retry.ts";
import { readScenario } from "../file/read-scenario.ts";
import {
  ask,
  call,
  destinationAt,
  messageOf,
  pipeline,
  results,
  rows,
  send,
  startForEach,
  type Message,
} from "./what-if.fixture.ts";

startForEach();

describe("what if an attempt had been answered differently", () => {
  test("a success ends the delivery there, and the receiver that got it later never has it", async () => {
    await destinationAt({
      billing: [{ do: "answer", status: 503, times: 3 }, { do: "hang" }],
      ledger: [{ do: "reset", times: 4 }, { do: "answer" }],
    });
    await send("A");
    await call("clock.advance", { to: "idle" });
    const message = await messageOf("A");
    const answer = await ask(message, 3, { status: 200 });
    expect(answer.name).toBe("What if round 3 had answered 200");
    expect(results(answer.asItWas)).toEqual(results(message.deliveries[0] as never));
    expect(results(answer.whatIf)).toEqual([
      "1 billing 503",
      "1 ledger connection_error",
      "2 billing 503",
      "2 ledger connection_error",
      "3 billing 200",
      "3 ledger connection_error",
    ]);
    const lines = answer.text.split("\n");
    expect(lines[(answer.changedLine ?? 0) - 1]).toBe("    - { status: 200 }");
    expect(lines[(answer.changedLine ?? 0) - 2]).toBe("    - { status: 503, times: 2 }");
    const [delivery, rounds, billing, ledger, body] = rows(answer);
    expect(delivery?.[1]).toMatch(/^\d+ m( \d+ s)? earlier$/);
    expect(rounds).toEqual([
      "rounds and attempts",
      "rounds 4 to 5 never happen, 4 attempts fewer",
      false,
    ]);
    expect(billing).toEqual(["billing got it", "billing has the message", false]);
    expect(ledger).toEqual([
      "ledger got it",
      "one success ends the delivery: ledger never has the message",
      true,
    ]);
    expect(answer.whatIf.payload).toBe(answer.asItWas.payload);
    expect(body?.[1]).toContain("no difference");
    expect(answer.notes).toEqual([
      "The shared secret is not recorded: another one replaces it, so the signature differs.",
    ]);
    // The rounds before the change are where they were, to the millisecond.
    const startsOf = ({ attempts }: Message["deliveries"][number]) =>
      attempts
        .filter(({ round }) => round <= 3)
        .map(({ startedAt }) => startedAt)
        .toSorted();
    expect(startsOf(answer.whatIf)).toEqual(startsOf(answer.asItWas));
  });

  test("a failure in place of the success is retried at the seeded times of that delivery", async () => {
    await destinationAt({ billing: [{ do: "answer" }] });
    for (const event of ["A", "B", "C"]) await send(event);
    const message = await messageOf("C");
    const answer = await ask(message, 1, { status: 503 });
    expect(results(answer.whatIf)).toEqual(["1 billing 503", "2 billing 200"]);
    const startedAt = Date.parse(message.deliveries[0]?.attempts[0]?.startedAt ?? "");
    const [second] = plannedRounds({
      profile: documented,
      seed: 1,
      jitter: true,
      sequence: deliveryIds.parse(message.deliveries[0]?.id ?? "") ?? 0,
      round: 1,
      roundStartedAt: startedAt,
      firstAttemptAt: startedAt,
    });
    expect(Date.parse(answer.whatIf.attempts[1]?.startedAt ?? "")).toBe(second);
    expect((await ask(message, 1, { do: "hang" })).whatIf.attempts[0]?.outcome).toBe("timeout");
    expect((await ask(message, 1, { do: "reset" })).whatIf.attempts[0]?.outcome).toBe(
      "connection_error",
    );
    const lost = await ask(message, 1, { status: 410 });
    expect(rows(lost)[0]).toEqual(["the delivery", "failed in place of delivered", true]);
    expect((await ask(message, 1, { status: 200 })).changedLine).toBeNull();
  });

  test("leaves out the time that a busy machine takes", async () => {
    await destinationAt({ billing: [{ do: "answer" }] });
    const busy = setInterval(() => {
      for (const end = performance.now() + 150; performance.now() < end;);
    });
    await send("A");
    clearInterval(busy);
    const message = await messageOf("A");
    expect(message.deliveries[0]?.attempts[0]?.durationMs).toBeGreaterThan(150);
    expect((await ask(message, 1, { status: 503 })).text).not.toContain("delay:");
  });

  test("sends nothing to the webhooks, and changes nothing here", async () => {
    const { destination } = await destinationAt({
      billing: [{ do: "answer", status: 503, times: 2 }, { do: "answer" }],
    });
    await send("A");
    await call("clock.advance", { to: "idle" });
    const [endpoint] = (await call("endpoints.list", {})).items;
    const before = JSON.stringify([await messageOf("A"), endpoint, await call("clock.get", {})]);
    await ask(await messageOf("A"), 2, { status: 404 });
    const [after] = (await call("endpoints.list", {})).items;
    expect(JSON.stringify([await messageOf("A"), after, await call("clock.get", {})])).toBe(before);
    expect(destination.name).toBe("Billing");
  });

  test("plays the recorded answers of a real receiver, which is not asked", async () => {
    const statuses = [500, 502, 200];
    let asked = 0;
    const receiver = createServer((request, response) => {
      request.resume();
      response.writeHead(statuses[asked] ?? 200).end();
      asked += 1;
    });
    await once(receiver.listen(0, "127.0.0.1"), "listening");
    try {
      const { port } = receiver.address() as AddressInfo;
      const source = await call("sources.create", { name: "Shop", writeKey: "key-shop" });
      await call("destinations.create", {
        name: "Real",
        sourceIds: [source.id],
        webhooks: [
          { url: `http://127.0.0.1:${port}/hook`, headers: { Authorization: "Bearer x" } },
        ],
      });
      await send("A");
      await call("clock.advance", { to: "idle" });
      const answer = await ask(await messageOf("A"), 2, { status: 400 });
      expect(results(answer.asItWas)).toEqual(["1 hook 500", "2 hook 502", "3 hook 200"]);
      expect(results(answer.whatIf)).toEqual(["1 hook 500", "2 hook 400"]);
      expect(rows(answer)[0]?.[2]).toBe(true);
      expect(answer.text).not.toContain("Bearer x");
      // Beside an equal answer, the changed one has a line of its own.
      const { text, changedLine } = await ask(await messageOf("A"), 1, { status: 502 });
      expect(text.split("\n")[(changedLine ?? 0) - 1]).toBe("    - { status: 502 }");
      expect(asked).toBe(3);
    } finally {
      receiver.close();
    }
  });

  test("has the same results as the record where an answer broke off or took too long", async () => {
    await destinationAt({
      billing: [
        { do: "truncate", body: "all is well" },
        { do: "drip", body: "all is well", forMs: 60_000 },
        { do: "answer" },
      ],
    });
    await send("A");
    await call("clock.advance", { to: "idle" });
    const message = await messageOf("A");
    expect(results(message.deliveries[0] as (typeof message.deliveries)[number])).toEqual([
      "1 billing 200",
      "2 billing 200",
      "3 billing 200",
    ]);
    expect((await ask(message, 3, { status: 500 })).notes).toEqual([
      "The shared secret is not recorded: another one replaces it, so the signature differs.",
      "A connection failed with body_cut_short. In the scenario the endpoint resets it.",
    ]);
  });

  test("names webhooks whose paths are equal by their URLs", async () => {
    const source = await call("sources.create", { name: "Shop", writeKey: "key-shop" });
    const { url } = await call("endpoints.create", { name: "R", steps: [{ do: "answer" }] });
    await call("destinations.create", {
      name: "Two",
      sourceIds: [source.id],
      webhooks: [{ url: `${url}?team=a` }, { url: `${url}?team=b` }],
    });
    await send("A");
    const { differences } = await ask(await messageOf("A"), 1, { status: 404 });
    expect(differences.slice(2, 4).map(({ what }) => what)).toEqual([
      `${url}?team=a got it`,
      `${url}?team=b got it`,
    ]);
  });

  test("works for a delete message, one of an audience, and a destination that is gone", async () => {
    const { destination } = await destinationAt({
      billing: [{ do: "answer", status: 503, match: { type: "delete" } }, { do: "answer" }],
    });
    await send("A");
    await call("deletions.create", { userIds: ["u_1"], suppress: false });
    await call("clock.advance", { to: "idle" });
    const { items } = await call("messages.list", { limit: 10 });
    const deletion = items.find(({ type }) => type === "delete");
    const message = await call("messages.get", { id: deletion?.id ?? "" });
    expect(results((await ask(message, 2, { status: 400 })).whatIf)).toEqual([
      "1 billing 503",
      "2 billing 400",
    ]);
    await call("destinations.delete", { id: destination.id });
    const answer = await ask(await messageOf("A"), 1, { status: 400 });
    expect(answer.whatIf.state).toBe("failed");
    expect(answer.notes).toContain(
      "The destination has been deleted. Its webhooks are those of the attempts.",
    );
  });

  test("has the body of the record, whatever the client left out, the path said and a filter removed", async () => {
    const { destination } = await destinationAt({ billing: [{ do: "answer", status: 503 }] });
    await call("destinations.update", {
      id: destination.id,
      filters: [{ name: "No email", action: "drop-properties", properties: ["properties.email"] }],
    });
    const body = {
      type: "identify",
      event: "A",
      userId: "u_1",
      properties: { email: "a@b", n: 1 },
    };
    const authorization = `Basic ${Buffer.from("key-shop:").toString("base64")}`;
    await fetch(`${pipeline().ingestUrl}/v1/track`, {
      method: "POST",
      headers: { authorization, "user-agent": "no version" },
      body: JSON.stringify({ ...body, messageId: "A" }),
    });
    await call("pipeline.settle", {});
    const { asItWas, whatIf, text } = await ask(await messageOf("A"), 1, { status: 200 });
    expect(asItWas.payload).toContain('"properties":{"n":1},"context":{"ip":"127.0.0.1"}}');
    expect([whatIf.state, whatIf.payload]).toEqual(["delivered", asItWas.payload]);
    expect(text).not.toContain("a@b");
  });

  test("of a batch that a mapping made is played without the mapping, and says so", async () => {
    const source = await call("sources.create", { name: "Shop", writeKey: "key-shop" });
    const { url } = await call("endpoints.create", {
      name: "orders",
      steps: [{ do: "answer", status: 503, times: 2 }, { do: "answer" }],
    });
    await call("destinations.create", {
      kind: "webhooks-actions",
      name: "Ledger",
      sourceIds: [source.id],
      mappings: [
        {
          name: "Orders",
          trigger: 'type = "track"',
          url,
          data: { id: { "@path": "$.messageId" }, context: { "@path": "$.userId" } },
          batch: { enabled: true, size: 2, waitMs: 60_000 },
        },
      ],
    });
    await send("A");
    await send("B");
    await call("clock.advance", { to: "idle" });
    for (const event of ["A", "B"]) {
      const message = await messageOf(event);
      expect(message.deliveries[0]?.messages).toHaveLength(2);
      const answer = await ask(message, 2, { status: 200 });
      expect(results(answer.asItWas)).toEqual(["1 orders 503", "2 orders 503", "3 orders 200"]);
      expect(results(answer.whatIf)).toEqual(["1 orders 503", "2 orders 200"]);
      expect(answer.notes).toEqual([
        "The mapping and the other message of the batch are left out: the scenario sends this message itself. Its rounds and answers are those of the record, its body is another.",
      ]);
      expect(rows(answer).map(([what]) => what)).toEqual([
        "the delivery",
        "rounds and attempts",
        "orders got it",
      ]);
    }
  });

  test.each([
    [{ integrations: { All: false, "Actions Webhook": true } }],
    [{ context: { integrations: { All: false, "Actions Webhook": true } } }],
  ])("of a mapping that its message names: %j", async (named) => {
    const source = await call("sources.create", { name: "Shop", writeKey: "key-shop" });
    const { url } = await call("endpoints.create", { name: "ads", steps: [{ do: "answer" }] });
    const { id } = await call("destinations.create", {
      kind: "webhooks-actions",
      name: "Ads",
      sourceIds: [source.id],
      mappings: [{ name: "All", url }],
    });
    await call("sources.send", {
      id: source.id,
      type: "identify",
      body: JSON.stringify({ userId: "u_1", messageId: "A", ...named }),
    });
    await call("pipeline.settle", {});
    const expectAnswer = async (): Promise<void> => {
      const answer = await ask(await messageOf("A"), 1, { status: 410 });
      expect(results(answer.asItWas)).toEqual(["1 ads 200"]);
      expect(results(answer.whatIf)).toEqual(["1 ads 410"]);
    };
    await expectAnswer();
    await call("destinations.delete", { id });
    await expectAnswer();
  });

  test.each([
    ["send", { user_id: 7, UserId: "x" }],
    ["post", { anonymous_id: "a_1" }],
  ])("of a message with other members, in a %s step: %j", async (verb, members) => {
    await destinationAt({ billing: [{ do: "answer", status: 503 }, { do: "answer" }] });
    await send("A", {}, members);
    await call("clock.advance", { to: "idle" });
    const answer = await ask(await messageOf("A"), 1, { status: 200 });
    expect(results(answer.asItWas)).toEqual(["1 billing 503", "2 billing 200"]);
    expect(results(answer.whatIf)).toEqual(["1 billing 200"]);
    expect(answer.text).toContain(`- ${verb}:`);
  });

  test("is answered for four callers at once, because each takes a pipeline of its own", async () => {
    await destinationAt({ billing: [{ do: "answer" }] });
    await send("A");
    const message = await messageOf("A");
    const input = {
      messageId: message.id,
      attemptId: message.deliveries[0]?.attempts[0]?.id ?? "",
      answer: { status: 410 },
    };
    const asked = () => pipeline().api.call("scenarios.whatIf", input);
    const answers = await Promise.all(Array.from({ length: 6 }, asked));
    const refused = answers.filter(({ status }) => status !== 200);
    expect(refused).toEqual(
      Array.from({ length: 2 }, () => ({
        status: 409,
        body: expect.objectContaining({ code: "too_many_runs" }) as unknown,
      })),
    );
    expect((await asked()).status).toBe(200);
  });

  test("is a scenario that can be run again, and refuses an attempt that there is not", async () => {
    await destinationAt({ billing: [{ do: "answer", status: 500, times: 12 }, { do: "answer" }] });
    await send("A");
    await call("clock.advance", { to: "idle" });
    const message = await messageOf("A");
    const answer = await ask(message, 4, { status: 201 });
    expect(readScenario(answer.text)).not.toHaveProperty("problems");
    const wrong = await pipeline().api.call("scenarios.whatIf", {
      messageId: message.id,
      attemptId: "att_000000zzz",
      answer: {},
    });
    expect(wrong.status).toBe(404);
    const bad = await pipeline().api.call("scenarios.whatIf", {
      messageId: message.id,
      attemptId: message.deliveries[0]?.attempts[0]?.id,
      answer: { status: 99 },
    });
    expect(bad.status).toBe(400);
  });

  test("answers less than 1 MB, whatever was recorded", async () => {
    const profile = await call("retryProfiles.create", {
      name: "often",
      schedule: { kind: "list", delaysMs: Array.from({ length: 60 }, () => 1000) },
    });
    await destinationAt(
      { billing: [{ do: "answer", status: 503 }] },
      { retryProfile: profile.name },
    );
    await send("A", { text: "x".repeat(30_000) });
    await call("clock.advance", { to: "idle" });
    const message = await messageOf("A");
    const answer = await ask(message, 50, { status: 200 });
    expect(JSON.stringify(answer).length).toBeLessThan(1_000_000);
    expect(answer.asItWas.attempts).toHaveLength(61);
    expect(answer.whatIf.attempts).toHaveLength(50);
    expect(answer.whatIf.attempts.some(({ leftOut }) => !leftOut)).toBe(true);
    expect(answer.whatIf.attempts[49]).toMatchObject({ leftOut: true, response: { status: 200 } });
  });

  test("refuses a message that no scenario can send", async () => {
    await destinationAt({ billing: [{ do: "answer", status: 400 }] });
    let deep: object = {};
    for (let level = 0; level < 200; level += 1) deep = { deep };
    await send("A", deep);
    await expect(ask(await messageOf("A"), 1, { status: 200 })).rejects.toThrow(
      "The scenario of this attempt cannot be run. Values are nested more than 200 levels deep",
    );
  });
});
