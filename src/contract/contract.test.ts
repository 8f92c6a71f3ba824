import { globSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import type { Problem } from "../domain/problem.ts";
import type { Call } from "./call.ts";
import { checkInput } from "./call.ts";
import { callNamed, calls } from "./contract.ts";
import { changeAreas } from "./places.ts";

const all = Object.values<Call>(calls);
const places = all.map((call) => `${call.method} ${call.path}`);

describe("the contract", () => {
  test("has no two calls at one place, and no two of one name", () => {
    expect(new Set(places).size).toBe(all.length);
    for (const [name, call] of Object.entries<Call>(calls)) expect(call.name).toBe(name);
  });

  test("names in each path what its parameters are", () => {
    for (const call of all) {
      const inPath = [...call.path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]);
      expect(Object.keys(call.params?.shape ?? {}), call.name).toEqual(inPath);
    }
  });

  test("has a query only in a GET, and a body only in everything else", () => {
    for (const call of all)
      expect(call.method === "GET" ? call.body : call.query, call.name).toBeNull();
  });

  test("gives no member two places", () => {
    for (const call of all) {
      const body =
        call.body !== null && "shape" in call.body ? Object.keys(call.body.shape as object) : [];
      const members = [call.params, call.query]
        .flatMap((part) => Object.keys(part?.shape ?? {}))
        .concat(body);
      expect(new Set(members).size, call.name).toBe(members.length);
    }
  });

  test.each([
    "GET /api/sources",
    "POST /api/sources",
    "PATCH /api/sources/{id}",
    "GET /api/destinations",
    "POST /api/destinations",
    "PATCH /api/destinations/{id}",
    "GET /api/messages",
    "GET /api/messages/{id}",
    "GET /api/deliveries",
    "POST /api/deliveries/{id}/retry",
    "POST /api/deliveries/{id}/cancel",
    "POST /api/messages/{id}/replay",
    "GET /api/clock",
    "POST /api/clock",
    "POST /api/clock/advance",
    "POST /api/settle",
    "POST /api/endpoints",
    "GET /api/endpoints/{id}/requests",
    "POST /api/deliveries/retry",
    "POST /api/unknown-keys/{writeKey}/adopt",
    "POST /api/audiences",
    "PATCH /api/audiences/{id}",
    "POST /api/audiences/{id}/sync",
    "POST /api/deletions",
    "GET /api/stats",
    "POST /api/reset",
  ])("has the stable call %s", (place) => {
    expect(places).toContain(place);
  });

  const kinds = [
    "sources",
    "destinations",
    "endpoints",
    "clients",
    "retry-profiles",
    "audiences",
    "computed-traits",
    "deletions",
    "jobs",
  ];
  test.each([...kinds, "scenario-runs"])("lists, reads and deletes %s", (kind) => {
    expect(places).toEqual(
      expect.arrayContaining([
        `GET /api/${kind}`,
        `GET /api/${kind}/{id}`,
        `DELETE /api/${kind}/{id}`,
      ]),
    );
  });

  test("answers 201 where something is created, and 200 everywhere else", () => {
    const others = [
      "checks.start",
      "destinations.putFault",
      "scenarios.run",
      "stories.open",
      "unknownKeys.adopt",
    ];
    for (const { name, status } of all)
      expect(status, name).toBe(name.endsWith(".create") || others.includes(name) ? 201 : 200);
  });

  test("refuses a member that a call does not know, by name, in every call", () => {
    for (const call of all) {
      const known = Object.fromEntries(
        Object.keys(call.params?.shape ?? {}).map((name) => [name, "x"]),
      );
      expect(checkInput(call, { ...known, surprise: 1 }), call.name).toMatchObject({
        problem: true,
        status: 400,
      });
    }
    expect(checkInput(calls["sources.create"], { name: "Web", surprise: 1 })).toMatchObject({
      message: expect.stringContaining("surprise"),
    });
  });

  test("knows no call by the name of a member that every object has", () => {
    expect(callNamed("constructor")).toBeUndefined();
    expect(callNamed("__proto__")).toBeUndefined();
  });
});

describe("checking an input", () => {
  test.each([
    ["sources.create", {}, "name is missing."],
    ["sources.create", { name: 1 }, "name must be a string."],
    [
      "sources.create",
      { name: "Web", kind: "desktop" },
      'kind must be "web", "mobile" or "server".',
    ],
    [
      "sources.create",
      { name: "Web", faults: [{ do: "cut", times: "2" }] },
      "faults[0].times must be a number.",
    ],
    [
      "sources.create",
      { name: "Web", faults: [{ do: "cut", tims: 2 }] },
      "Unknown member faults[0].tims.",
    ],
    ["sources.create", { nam: "Web" }, "Unknown member nam."],
    ["sources.create", [], "The input must be a JSON object."],
    ["sources.create", null, "The input must be a JSON object."],
    [
      "sources.create",
      JSON.parse('{"name":"Web","__proto__":{"kind":"web"}}'),
      "Unknown member __proto__.",
    ],
    [
      "destinations.create",
      { name: "A", sourceIds: [], webhooks: [{}] },
      "webhooks[0].url is missing.",
    ],
    ["messages.list", { limit: 0 }, "limit must be at least 1."],
    ["messages.list", { limit: 1001 }, "limit must be at most 1000."],
    ["clock.set", { mode: "faster", speed: 11 }, "speed must be 10, 60 or 600."],
    ["clock.advance", { byMs: -1 }, "byMs must be at least 0."],
    ["clock.advance", {}, "Give byMs or to."],
    ["clock.advance", { byMs: 1, to: "idle" }, "Give only one of byMs and to."],
    ["clock.advance", { byMs: 1, by: 2 }, "Unknown member by."],
    ["clock.advance", { to: "tomorrow" }, 'to must be "next-due" or "idle".'],
    ["clock.advance", { byMs: Number.POSITIVE_INFINITY }, "byMs must be a"],
    ["pipeline.settle", { timeoutMs: 600_001 }, "timeoutMs must be at most 600000."],
    ["deliveries.retryAll", {}, "filter is missing."],
    ["sources.get", { id: 5 }, "id must be a string."],
    [
      "destinations.sendAgain",
      { id: "dst_000000001", since: "yesterday" },
      "since is not valid: it must be a time such as 2026-11-21T12:00:00.000Z.",
    ],
  ] as const)("%s refuses %j", (name, input, sentence) => {
    expect(checkInput(calls[name] as Call, input)).toMatchObject({
      problem: true,
      code: "invalid",
      message: expect.stringContaining(sentence),
    });
  });

  test("names some of many unknown members, and the beginnings of long ones", () => {
    const names = Array.from({ length: 900 }, (_, n) => `${n}`.padEnd(5000, "n"));
    const input = Object.fromEntries(names.map((name) => [name, 1]));
    const { message } = checkInput(calls["destinations.create"] as Call, input) as Problem;
    expect(message).toContain("… and 880 others. It is not part of this call");
    expect(message.length).toBeLessThan(10_000);
  });

  test("refuses more values than can be checked in a moment, before it looks at them, and takes the longest list", () => {
    const many = (count: number) => Array.from({ length: count }, (_, n) => `u${n}`);
    const tooMany = {
      problem: true,
      message: "The input has more than the 120000 values allowed. Divide it among several calls.",
    };
    const create = calls["audiences.create"] as Call;
    expect(checkInput(create, { name: "A", members: many(100_000) })).not.toMatchObject(tooMany);
    expect(checkInput(create, { name: "A", members: many(120_000) })).toMatchObject(tooMany);
    const importing = calls["configuration.import"] as Call;
    const audiences = Array.from({ length: 5 }, (_, n) => ({
      name: `A ${n}`,
      members: many(100_000),
    }));
    expect(checkInput(importing, { version: 1, audiences })).not.toHaveProperty("problem");
    const sources = Array.from({ length: 300_001 }, () => ({ nam: 1 }));
    expect(checkInput(importing, { version: 1, sources })).toMatchObject({
      problem: true,
      message: expect.stringContaining("more than the 600000 values"),
    });
    const schemas = { Bought: { enum: many(130_000) } };
    expect(checkInput(calls["sources.create"] as Call, { name: "A", plan: { schemas } })).toEqual(
      expect.objectContaining({ name: "A", plan: { schemas } }),
    );
  });

  test("fills in what may be left out", () => {
    expect(checkInput(calls["messages.list"], {})).toEqual({ limit: 50 });
    expect(checkInput(calls["pipeline.settle"], {})).toEqual({ timeoutMs: 30_000 });
  });

  test("joins the members of the path and the body", () => {
    expect(checkInput(calls["messages.pin"], { id: "msg_00000000a", pinned: true })).toEqual({
      id: 10,
      pinned: true,
    });
  });
});

test("a call reads the area that it is named after, or those that it lists", () => {
  expect(calls["retryProfiles.list"].reads).toEqual(["retry-profiles"]);
  expect(calls["messages.list"].reads).toEqual(["messages", "deliveries"]);
  expect(calls["about.get"].reads).toEqual([]);
  const read = new Set(all.flatMap(({ reads }) => reads));
  expect(changeAreas.filter((area) => !read.has(area))).toEqual([]);
});

test("a call that the inspector keeps up to date reads an area, or nothing would refresh it", () => {
  const root = fileURLToPath(new URL("../renderer/", import.meta.url));
  const sources = globSync("**/*.{ts,tsx}", { cwd: root }).map((path) =>
    readFileSync(root + path, "utf8"),
  );
  const live = new Set(
    sources.flatMap((text) =>
      [...text.matchAll(/useLive\("([\w.]+)"/g)].map(([, name = ""]) => name),
    ),
  );
  expect(live.size).toBeGreaterThan(25);
  expect([...live].filter((name) => callNamed(name)?.reads.length === 0)).toEqual([]);
});
