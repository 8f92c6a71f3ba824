import { afterEach, expect, test } from "vitest";
import { startBatchServer, stopServers } from "../../test/support/batch-server.ts";
import { Analytics } from "./analytics.ts";
import { New, NewWithConfig } from "./go-spelling.ts";

afterEach(stopServers);

test("both spellings send the same", async () => {
  const server = await startBatchServer();
  const settings = () => {
    let ids = 0;
    return {
      endpoint: server.url,
      newId: () => `id-${(ids += 1)}`,
      time: { now: () => 0, schedule: () => ({ cancel() {} }) },
    };
  };
  const go = New("key", settings());
  const common = {
    Context: { ip: "::1" },
    Integrations: { All: false },
    Timestamp: "2020-01-02T03:04:05Z",
  };
  go.Identify({ UserId: "u", Traits: { Plan: "pro" }, ...common });
  go.Track({ AnonymousId: "a", Event: "Bought", Properties: { Price: 1 }, MessageId: "own" });
  go.Page({ UserId: "u", Category: "c", Name: "n", Traits: { url: "/" } });
  go.Group({ UserId: "u", GroupId: "g", Traits: { Size: 2 } });
  go.Alias({ UserId: "u", PreviousId: "a" });
  await go.Close();

  const analytics = new Analytics("key", settings());
  const same = {
    context: { ip: "::1" },
    integrations: { All: false },
    timestamp: "2020-01-02T03:04:05Z",
  };
  analytics.identify({ userId: "u", traits: { Plan: "pro" }, ...same });
  analytics.track({
    anonymousId: "a",
    event: "Bought",
    properties: { Price: 1 },
    messageId: "own",
  });
  analytics.page({ userId: "u", category: "c", name: "n", properties: { url: "/" } });
  analytics.group({ userId: "u", groupId: "g", traits: { Size: 2 } });
  analytics.alias({ userId: "u", previousId: "a" });
  await analytics.close();

  const [first, second] = server.received;
  expect(first?.messages).toHaveLength(5);
  expect(first?.body).toBe(second?.body);
});

test("the settings of the document's table can be set on the client", async () => {
  const server = await startBatchServer();
  const client = New("key");
  expect([client.Size, client.FlushAt, client.FlushAfter]).toEqual([20, 20, 5000]);
  client.Endpoint = server.url;
  client.FlushAfter = 60_000;
  client.FlushAt = 30;
  client.Size = 2;
  expect([client.Size, client.FlushAt, client.FlushAfter, client.Endpoint]).toEqual([
    2,
    2,
    60_000,
    server.url,
  ]);
  client.Track({ UserId: "u", Event: "one" });
  client.Track({ UserId: "u", Event: "two" });
  await client.Flush();
  expect(server.received.map(({ ids }) => ids.length)).toEqual([2]);
  await client.Close();
});

test("a call without what it needs is refused, and so is a name in neither spelling", () => {
  const client = New("key");
  expect(() => client.Track({ UserId: "u", Event: "" })).toThrow("You must pass 'event'.");
  expect(() => client.Page({ AnonymousId: "a" })).toThrow("You must pass a 'userId'.");
  expect(() => client.Identify({ UserId: "u", userId: "v" } as { UserId: string })).toThrow(
    "'userId' is not a field of this call, whose names are those of Go. Use 'UserId'.",
  );
  expect(() => client.Track({ userId: "u", event: "a" } as never)).toThrow("Use 'UserId'.");
  expect(() => client.Track({ user_id: "u" } as never)).toThrow("Use 'UserId'.");
  expect(() => client.Track({ colour: "red" } as never)).toThrow("names are those of Go.");
  expect(() => client.Track({ UserId: "u", Event: "a", Evnt: "b" } as never)).toThrow(
    "'evnt' is not a field of track",
  );
});

test("version 3's spelling: a config, one call for all messages, and callbacks for each", async () => {
  const server = await startBatchServer((request) => ({ status: request === 0 ? 200 : 400 }));
  const heard: string[] = [];
  const client = NewWithConfig("key", {
    Endpoint: server.url,
    Interval: 0,
    BatchSize: 2,
    DefaultContext: { locale: "de" },
    RetryAfter: () => 0,
    Callback: {
      Success: ({ messageId }) => heard.push(`sent ${messageId}`),
      Failure: ({ messageId }, { status }) => heard.push(`failed ${messageId}: ${status}`),
    },
  });
  for (const MessageId of ["a", "b", "c"])
    client.Enqueue({ Type: "track", UserId: "u", Event: "Bought", MessageId });
  client.Enqueue({ Type: "page", AnonymousId: "x", Name: "Home", MessageId: "d" });
  await client.Close();
  expect(heard).toEqual(["sent a", "sent b", "failed c: 400", "failed d: 400"]);
  expect(server.received[0]?.body).toContain(
    '"context":{"library":{"name":"analytics-go","version":"3.0.0"},"locale":"de"}',
  );
  expect(() => client.Enqueue({ UserId: "u" } as never)).toThrow("'Type'");
});

test("names that no client has are refused", () => {
  const go = New("key");
  go.Interval = 1000;
  expect([go.FlushAfter, go.Interval]).toEqual([1000, 1000]);
  expect(() => Object.assign(go, { Sise: 1 })).toThrow("Sise");
  expect(() => NewWithConfig("key", { Interwal: 5 } as never)).toThrow(
    "'Interwal' is not an option. Use 'Interval'.",
  );
  expect(() => NewWithConfig("key", { Callback: { Success: "log" } } as never)).toThrow("callback");
  expect(() => Object.assign(NewWithConfig("key"), { BatchSize: 1 })).toThrow("BatchSize");
});
