/** Credentials are in no answer, so a list that an agent repeats has `left-out` in their places. */

import { test as base, expect } from "vitest";
import { starting } from "../support/running-app.ts";
import { startAgent, type Agent } from "./agent.ts";

const test = base
  .extend("start", starting)
  .extend("agent", async ({ start }, { onCleanup }): Promise<Agent> => {
    const agent = await startAgent(start);
    onCleanup(() => agent.stop());
    return agent;
  });

test("webhooks that are repeated as shown keep their credentials, also with a new URL", async ({
  agent: { app, use },
}) => {
  const { id } = await app.destination([], {
    webhooks: [
      {
        url: "http://a.example/?token=token-1",
        headers: { Authorization: "secret-one", "X-Team": "a" },
      },
      { url: "http://b.example/", headers: { Authorization: "secret-two" } },
    ],
  });
  expect(await use("show", { id })).not.toMatch(/token-1|secret-/);
  const headers = { authorization: "left-out" };
  const changed = await use("configure", {
    kind: "destination",
    id,
    changes: {
      webhooks: [
        { url: "http://a.example:8080/new", headers: { ...headers, "X-Team": "b" } },
        { url: "http://b.example/", headers },
        { url: "http://a.example/?token=left-out", headers },
      ],
    },
  });
  expect(changed).toContain("Changed");
  expect(await app.call("destinations.get", { id })).toMatchObject({
    webhooks: [
      { url: "http://a.example:8080/new", headers: { authorization: "secret-one", "X-Team": "b" } },
      { url: "http://b.example/", headers: { authorization: "secret-two" } },
      { url: "http://a.example/?token=token-1", headers: { authorization: "secret-one" } },
    ],
  });

  const elsewhere = { webhooks: [{ url: "http://c.example/", headers }] };
  expect(await use("configure", { kind: "destination", id, changes: elsewhere })).toContain(
    "Hookyard has none for that host. Give it: the value of authorization for http://c.example/.",
  );
});

test("mappings keep theirs by name, and steps by their URL", async ({ agent: { app, use } }) => {
  const source = await app.source();
  const data = { id: 1 };
  const mapping = (name: string, key: string) => ({
    ...{ name, url: `http://x.example/?key=${key}`, data },
    headers: { "X-Api-Key": key, "X-Id": { "@path": "$.userId" } },
  });
  const { id } = await app.call("destinations.create", {
    kind: "webhooks-actions",
    name: "Actions",
    sourceIds: [source.id],
    mappings: [mapping("First", "secret-k1"), mapping("Second", "secret-k2")],
  });
  expect(await use("show", { id, maxBytes: 100_000 })).not.toMatch(/secret-/);
  const mappings = [{ ...mapping("Second", "left-out"), url: "http://x.example/new" }];
  await use("configure", { kind: "destination", id, changes: { mappings } });
  expect((await app.call("destinations.get", { id })).mappings).toMatchObject([
    { url: "http://x.example/new", headers: mapping("Second", "secret-k2").headers },
  ]);

  const endpoint = await app.call("endpoints.create", {
    name: "In front",
    steps: [
      { do: "answer", status: 200, headers: { "Set-Cookie": "secret-c1" } },
      { do: "forward", to: "http://user:secret-p1@x.example/" },
    ],
  });
  const shown = await use("show", { id: endpoint.id });
  expect(shown).toContain("http://left-out:left-out@x.example/");
  expect(shown).not.toMatch(/secret-/);
  const steps = [
    { do: "forward", to: "http://left-out:left-out@x.example/" },
    { do: "answer", status: 201, headers: { "Set-Cookie": "left-out" } },
  ];
  await use("configure", { kind: "endpoint", id: endpoint.id, changes: { steps } });
  expect((await app.call("endpoints.get", { id: endpoint.id })).steps).toMatchObject([
    { to: "http://user:secret-p1@x.example/" },
    { status: 201, headers: { "Set-Cookie": "secret-c1" } },
  ]);
});

test("a directive of a mapping is shown without its credentials, and keeps them", async ({
  agent: { app, use },
}) => {
  const { id: source } = await app.source();
  const mapping = {
    name: "One",
    url: { "@template": "http://ada:secret-p1@x.example/?token=secret-t1&u={{userId}}" },
    headers: { Authorization: { "@template": "Bearer secret-b1 {{userId}}" } },
  };
  const { id } = await app.call("destinations.create", {
    ...{ kind: "webhooks-actions", name: "Actions", sourceIds: [source], mappings: [mapping] },
  });
  expect(await use("show", { id, maxBytes: 100_000 })).not.toMatch(/secret-/);
  expect(JSON.stringify(await app.call("configuration.export", {}))).not.toMatch(/secret-/);
  const shown = "http://left-out:left-out@x.example/?token=left-out&u={{userId}}";
  const headers = { Authorization: "left-out" };
  const mappings = [{ ...mapping, method: "PUT", url: { "@template": shown }, headers }];
  await use("configure", { kind: "destination", id, changes: { mappings } });
  expect((await app.call("destinations.get", { id })).mappings).toMatchObject([
    { ...mapping, method: "PUT" },
  ]);
});

test("a credential that is not known is refused, with its name", async ({
  agent: { app, use },
}) => {
  const { id } = await app.destination(["http://a.example/"], {});
  const webhooks = [
    { url: "http://a.example/?token=left-out", headers: { Authorization: "left-out" } },
  ];
  const given = { kind: "destination", changes: { webhooks } };
  const refusal =
    /Refused: invalid[^]*Give it: the credentials in the URL .*; the value of Authorization for/;
  expect(await use("configure", { ...given, id })).toMatch(refusal);
  expect(await use("configure", given)).toMatch(refusal);
  expect(await app.call("destinations.get", { id })).toMatchObject({
    webhooks: [{ url: "http://a.example/", headers: {} }],
  });
});

test("a mapping whose URL each event gives gets no credential of another, and keeps its own", async ({
  agent: { app, use },
}) => {
  const url = { "@path": "$.properties.hook" };
  const mapping = (name: string, address: unknown, key: string) => ({
    ...{ name, url: address, data: { id: 1 } },
    headers: { Authorization: key },
  });
  const { id } = await app.call("destinations.create", {
    kind: "webhooks-actions",
    name: "Actions",
    sourceIds: [],
    mappings: [mapping("First", url, "secret-k1")],
  });
  const configured = (...mappings: object[]): Promise<string> =>
    use("configure", { kind: "destination", id, changes: { mappings } });
  const elsewhere = { "@template": "https://evil.example/{{userId}}" };
  for (const name of ["First", "Other"])
    expect(await configured(mapping(name, elsewhere, "left-out"))).toMatch(
      /Refused: invalid[^]*Give it: the value of Authorization\./,
    );
  expect(await configured({ ...mapping("First", url, "left-out"), method: "PUT" })).toContain(
    "Changed",
  );
  expect((await app.call("destinations.get", { id })).mappings).toMatchObject([
    { method: "PUT", headers: { Authorization: "secret-k1" } },
  ]);
});

test("a step that moves up because another is removed keeps its cookie", async ({
  agent: { app, use },
}) => {
  const step = (status: number, cookie: string) => ({
    ...{ do: "answer" as const, status },
    headers: { "Set-Cookie": cookie },
  });
  const { id } = await app.call("endpoints.create", {
    name: "Answers",
    steps: [step(200, "secret-c1"), step(201, "secret-c2")],
  });
  const changes = { steps: [step(201, "left-out")] };
  expect(await use("configure", { kind: "endpoint", id, changes })).toContain("Changed");
  expect((await app.call("endpoints.get", { id })).steps).toMatchObject([
    { status: 201, headers: { "Set-Cookie": "secret-c2" } },
  ]);
});
