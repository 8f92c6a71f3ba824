import { describe, expect, test } from "vitest";
import type { AnswerOf, InputOf } from "../../contract/contract.ts";
import { readWritten } from "../file/read-scenario.ts";
import { typedCalls } from "../run/pipeline.ts";
import { runRead } from "../run/run-scenario.ts";
import {
  allMessages,
  call,
  pipeline,
  recorded,
  send,
  start,
  startForEach,
} from "./record.fixture.ts";
import { recordScenario } from "./record.ts";

startForEach();

type Steps = InputOf<"endpoints.create">["steps"];

const endpoint = async (name: string, steps: Steps): Promise<string> =>
  (await call("endpoints.create", { name, steps })).url;

const shop = () => call("sources.create", { name: "Shop", writeKey: "key-shop" });

const stepsOf = (text: string): string => text.slice(text.indexOf("steps:\n"));

describe("a recorded session", () => {
  test("has every attempt, also where the message lists fewer of each delivery", async () => {
    const source = await shop();
    await call("retryProfiles.create", {
      name: "often",
      jitter: 0,
      schedule: { kind: "list", delaysMs: Array.from({ length: 40 }, () => 1000) },
    });
    const down: Steps = [{ do: "answer", status: 503, times: 30 }, { do: "answer" }];
    const urls = {
      down: await endpoint("Down", down),
      up: await endpoint("Up", [{ do: "answer" }]),
    };
    for (let place = 0; place < 50; place += 1)
      await call("destinations.create", {
        name: `D${place}`,
        sourceIds: [source.id],
        webhooks: [{ url: place === 0 ? urls.down : urls.up }],
        retryProfile: "often",
      });
    await send("/v1/track", { event: "E", userId: "u_1", messageId: "m_1" });
    await call("clock.advance", { byMs: 60_000 });
    const { text, notes } = await recorded();
    expect(notes).toEqual([]);
    expect(text).toContain("webhook: D0 }, results: [ 503 x30, 200 ]");
  });

  test("sends what the path said, and no number that JSON does not have", async () => {
    const source = await shop();
    await call("destinations.create", {
      name: "D",
      sourceIds: [source.id],
      webhooks: [{ url: await endpoint("R", [{ do: "answer" }]) }],
    });
    await send(
      "/v1/track",
      '{"type":"identify","event":"E","userId":"u_1","messageId":"m_1","properties":{"a":1e400}}',
    );
    expect(stepsOf((await recorded()).text)).toContain(
      "- send: { type: track, event: E, userId: u_1, messageId: m_1, properties: { a: null } }",
    );
  });

  test("has in each message what its batch had for all", async () => {
    const source = await shop();
    const url = await endpoint("R", [{ do: "answer" }]);
    await call("destinations.create", {
      name: "D",
      sourceIds: [source.id],
      webhooks: [{ url }],
      filters: [{ name: "No tests", action: "drop", if: 'context.app = "test"' }],
    });
    const track = { type: "track", event: "E", userId: "u_1" };
    await send("/v1/batch", {
      batch: [
        { ...track, messageId: "m_1" },
        { ...track, messageId: "m_2", context: { app: "shop" } },
      ],
      context: { app: "test", os: "x" },
    });
    await send("/v1/batch", {
      batch: [
        { ...track, messageId: "m_3" },
        { ...track, messageId: "m_4", context: { integrations: { All: true } } },
        { ...track, messageId: "m_5", integrations: { Webhooks: true } },
      ],
      integrations: { All: false },
    });
    const { text, notes } = await recorded();
    expect(notes).toEqual([]);
    expect(text).toContain("messageId: m_2, context: { app: shop, os: x } }");
    expect(text).toContain("decisions: { D: filter_dropped }");
    expect(text).toContain("decisions: { D: integrations_all_false }");
    expect(text).toContain("[ m_2, m_4, m_5 ], destination: D }, count: 3, state: delivered");
    const [id = ""] = await allMessages();
    expect(await call("messages.defaults", { id })).toEqual({ integrations: { All: false } });

    const big = { a: "x".repeat(40_000) };
    await send("/v1/batch", { batch: Array.from({ length: 20 }, () => track), context: big });
    await expect(recorded()).rejects.toThrow("more than 500,000 bytes");
    await send("/v1/batch", `{"batch":[{}],"context":{"a":[${"1e20,".repeat(60_000)}1]}}`);
    const [bigger = ""] = await allMessages();
    const refused = await pipeline().api.call("messages.defaults", { id: bigger });
    expect(refused).toMatchObject({ status: 413, body: { code: "too_large" } });
    const missing = await pipeline().api.call("messages.defaults", { id: "msg_nope" });
    expect(missing.status).toBe(404);
  });

  test("has the Retry-After of each answer, in seconds", async () => {
    const source = await shop();
    await call("retryProfiles.create", {
      name: "asked",
      jitter: 0,
      schedule: { kind: "list", delaysMs: Array.from({ length: 9 }, () => 10_000) },
      windowMs: 7_200_000,
      honourRetryAfter: true,
    });
    const later = "Sat, 21 Nov 2026 09:50:00 GMT";
    await call("destinations.create", {
      name: "D",
      sourceIds: [source.id],
      webhooks: [
        {
          url: await endpoint("R", [
            { do: "answer", status: 503, headers: { "retry-after": later } },
            { do: "answer", status: 503, headers: { "Retry-After": "3000" } },
            { do: "answer", status: 503, headers: { "Retry-After": "86400" } },
          ]),
        },
      ],
      retryProfile: "asked",
    });
    await send("/v1/track", { event: "E", userId: "u_1", messageId: "m_1" });
    await call("clock.advance", { to: "idle" });
    const [delivery] = (await call("deliveries.list", {})).items;
    expect(delivery).toMatchObject({ state: "expired", rounds: 3 });
    const { text } = await recorded();
    expect(text).toContain(`  D:
    - { match: { messageId: m_1 }, status: 503, headers: { Retry-After: "3000" }, times: 2 }
    - { match: { messageId: m_1 }, status: 503, headers: { Retry-After: "86400" }, times: 1000000 }
`);
    const details = await call("deliveries.get", { id: delivery?.id ?? "" });
    const answer = await call("scenarios.whatIf", {
      messageId: details.messageRowId,
      attemptId: details.attempts[2]?.id ?? "",
      answer: { status: 200 },
    });
    expect(answer.notes).toEqual([]);
  });

  test("is like the hosted service where its pipeline was", async () => {
    await call("settings.update", { parity: "hosted", vendor: "Hookyard" });
    const source = await call("sources.create", {
      name: "Shop",
      writeKey: "key-shop",
      correctClockSkew: false,
    });
    const url = await endpoint("R", [{ do: "answer" }]);
    await call("destinations.create", { name: "D", sourceIds: [source.id], webhooks: [{ url }] });
    await send("/v1/track", { event: "E", userId: "u_1", messageId: "m".repeat(100) });
    await send("/v1/track", { event: "E", userId: "u_1", messageId: "m_1" });
    const { text, notes } = await recorded();
    expect(notes).toEqual([]);
    expect(text).toContain("settings:\n  parity: hosted\n  vendor: Hookyard\n");
    expect(text).toContain("Shop: { kind: server, correctClockSkew: false }");
    expect(text).toContain("D: { webhooks: [ { endpoint: D } ] }");
    expect(text).toContain("reason: message_id_too_long");

    await call("settings.update", { limitMessageIds: false });
    expect((await recorded()).notes).toContain(
      "A scenario has no setting limitMessageIds of its own. In the scenario it is true, not false.",
    );
  });

  test("tells apart the deliveries of one message at several mappings", async () => {
    const source = await shop();
    const mapping = async (name: string, status: number) => ({
      name,
      url: await endpoint(name, [{ do: "answer", status }, { do: "answer" }]),
    });
    await call("destinations.create", {
      kind: "webhooks-actions",
      name: "Crm",
      sourceIds: [source.id],
      mappings: [await mapping("First", 404), await mapping("Second", 503)],
    });
    await send("/v1/track", { event: "E", userId: "u_1", messageId: "m_1" });
    const failed = (await call("deliveries.list", { state: "failed" })).items;
    for (const { id } of failed) await call("deliveries.retry", { id });
    await call("pipeline.settle", {});
    const { text, notes } = await recorded();
    expect(notes).toEqual([]);
    expect(stepsOf(text)).toContain("- retry: { messageId: m_1, destination: Crm, state: failed }");
    expect(stepsOf(text)).toContain(
      "- deliveries: { of: { messageId: m_1, destination: Crm, state: delivered }, count: 1",
    );
    expect(stepsOf(text)).toContain(
      "- deliveries: { of: { messageId: m_1, destination: Crm, state: waiting }, count: 1",
    );
  });

  test("answers each message of a mapping as it was answered, under every seed", async () => {
    const source = await shop();
    const url = await endpoint("R", [
      { do: "answer", status: 503, match: { event: "A" }, times: 2 },
      { do: "answer", status: 503, match: { event: "B" } },
      { do: "answer", status: 503, match: { messageId: "C" } },
      { do: "answer", status: 400, match: { event: "B" } },
      { do: "answer", status: 200 },
    ]);
    await call("destinations.create", {
      kind: "webhooks-actions",
      name: "Crm",
      sourceIds: [source.id],
      mappings: [
        { name: "Whole", trigger: 'type = "track"', url },
        {
          name: "Some",
          trigger: 'type = "identify"',
          url,
          data: { messageId: { "@path": "$.messageId" } },
        },
        { name: "None", trigger: 'type = "page"', url, data: { a: 1 } },
      ],
    });
    for (const event of ["A", "B"])
      await send("/v1/track", { event, userId: "u_1", messageId: event });
    for (const messageId of ["C", "E"]) await send("/v1/identify", { userId: "u_1", messageId });
    await send("/v1/page", { userId: "u_1", messageId: "D" });
    await call("clock.advance", { to: "idle" });
    const { text } = await recorded();
    expect(text.slice(text.indexOf("endpoints:"), text.indexOf("destinations:"))).toBe(`endpoints:
  Crm 1:
    - { match: { messageId: A }, status: 503, times: 2 }
    - { match: { messageId: A }, status: 200, times: 1000000 }
    - { match: { messageId: B }, status: 503 }
    - { match: { messageId: B }, status: 400, times: 1000000 }
    - { status: 200 }
  Crm 2:
    - { match: { messageId: C }, status: 503 }
    - { match: { messageId: C }, status: 200, times: 1000000 }
    - { match: { messageId: E }, status: 200, times: 1000000 }
    - { status: 200 }
  Crm 3: [ { status: 200 } ]
`);
  });

  test("sends once what was sent again to a destination, and says so", async () => {
    const source = await shop();
    const url = await endpoint("R", [{ do: "answer", status: 400 }, { do: "answer" }]);
    const { id } = await call("destinations.create", {
      name: "D",
      sourceIds: [source.id],
      webhooks: [{ url }],
    });
    await send("/v1/track", { event: "E", userId: "u_1", messageId: "m_1" });
    await call("destinations.sendAgain", {
      ...{ id, since: "2026-11-21T00:00:00Z", until: "2026-11-22T00:00:00Z" },
    });
    await call("pipeline.settle", {});
    const { text, notes } = await recorded();
    expect(notes).toEqual([
      "Messages that were sent again to a destination are left out: a scenario sends each of them once.",
    ]);
    expect(stepsOf(text).match(/- send:/g)).toHaveLength(1);
    expect(text).toContain("results: [ 400 ]");
  });

  test("answers messages with one messageId in the order in which they came", async () => {
    const source = await call("sources.create", {
      name: "Shop",
      writeKey: "key-shop",
      deduplicate: false,
    });
    const url = await endpoint("R", [
      { do: "answer", status: 400, times: 2 },
      { do: "answer", status: 200 },
    ]);
    await call("destinations.create", { name: "D", sourceIds: [source.id], webhooks: [{ url }] });
    for (const userId of ["u_1", "u_2", "u_3"])
      await send("/v1/track", { event: "E", userId, messageId: "m_1" });
    const { text } = await recorded();
    expect(text).toContain("of: { messageId: m_1, destination: D, state: failed }, count: 2");
    expect(text).toContain("of: { messageId: m_1, destination: D, state: delivered }, count: 1");
  });

  test("has one program for messages that were answered alike, and refuses one that is too long", async () => {
    const source = await shop();
    const down: Steps = [{ do: "answer", status: 503 }, { do: "answer" }];
    const { id } = await call("endpoints.create", { name: "R", steps: down, perMessage: true });
    const { url } = await call("endpoints.get", { id });
    await call("destinations.create", {
      name: "D",
      sourceIds: [source.id],
      webhooks: [{ url }],
    });
    const batch = ["m_1", "m_2", "m_3"].map((messageId) => ({
      ...{ type: "track", event: "E", userId: "u_1", messageId },
    }));
    await send("/v1/batch", { batch });
    await call("clock.advance", { to: "idle" });
    await call("endpoints.update", { id, steps: [{ do: "answer", status: 400 }] });
    await send("/v1/track", { event: "E", userId: "u_1", messageId: "m_4" });
    const { text, notes } = await recorded();
    expect(notes).toEqual([]);
    expect(text).toContain(
      "D: { steps: [ { match: { messageId: m_4 }, status: 400, times: 1000000 }, { status: 503 }, { status: 200 } ], perMessage: true }",
    );

    const app = typedCalls(pipeline().api.call);
    const refused = await recordScenario({
      messageIds: await allMessages(),
      own: {
        async call(name, input) {
          const answer = await app.call(name, input);
          const message = answer as AnswerOf<"messages.get">;
          const attempts = (message.deliveries ?? []).flatMap((delivery) => delivery.attempts);
          if (name !== "messages.get" || message.messageId !== "m_4") return answer;
          const [delivery] = message.deliveries;
          const many = Array.from({ length: 1001 }, (_, place) => ({
            ...attempts[0],
            response: { status: place % 2 === 0 ? 503 : 500, headers: [], body: "" },
          }));
          return {
            ...message,
            attempts: 1001,
            deliveries: [{ ...delivery, attempts: many }],
          } as never;
        },
      },
      run: () => Promise.reject(new Error("It is refused before it is run.")),
    });
    expect(refused).toMatchObject({
      code: "too_large",
      message: expect.stringContaining("its endpoint needs 1,003 steps, more than the 1,000"),
    });
  });

  test("says so where not all attempts of a message are listed", async () => {
    const source = await shop();
    const url = await endpoint("R", [{ do: "answer" }]);
    await call("destinations.create", { name: "D", sourceIds: [source.id], webhooks: [{ url }] });
    await send("/v1/track", { event: "E", userId: "u_1", messageId: "m_1" });
    const app = typedCalls(pipeline().api.call);
    const { notes } = (await recordScenario({
      messageIds: await allMessages(),
      own: {
        async call(name, input) {
          const answer = await app.call(name, input);
          return name === "messages.get" ? ({ ...answer, attempts: 900 } as never) : answer;
        },
      },
      run: (scenario) => runRead({ read: readWritten(scenario), start }),
    })) as { notes: string[] };
    expect(notes).toEqual([
      "A message has more attempts than an answer of the control API has room for. The older ones are not recorded.",
    ]);
  });
});
