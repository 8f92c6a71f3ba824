/**
 * What a page of another origin can make a browser send to the ports of Hookyard, kind by kind. The
 * control API does nothing and reveals nothing, also where the attacker has the token; ingest and
 * endpoints reveal nothing, and without a write key nothing is accepted.
 */

import { request, type IncomingHttpHeaders } from "node:http";
import { expect, test } from "vitest";
import { secret, startTargets, token, writeKey, type Targets } from "./targets.ts";

type Attack = { method?: string; path?: string; headers?: Record<string, string>; body?: string };

const evil = "http://evil.example";
const json = `{"name":"Mine","writeKey":"stolen"}`;
const messages = "/api/messages";

/** The attacks that begin in a browser. `self` is the host and port that is attacked. */
const attacks: Record<string, (self: string) => Attack> = {
  "DNS rebinding: the Host of a page whose name now points here": () => ({
    headers: { Host: "evil.example" },
  }),
  "DNS rebinding with our port, and the page's own origin": (self) => {
    const host = `evil.example:${self.split(":")[1]}`;
    return { headers: { Host: host, Origin: `http://${host}` } };
  },
  "a Host that begins like ours": () => ({ headers: { Host: "127.0.0.1.evil.example" } }),
  "a foreign Origin": () => ({ headers: { Origin: evil } }),
  "Origin null, of a sandboxed frame or a file": () => ({ headers: { Origin: "null" } }),
  "the Origin of another port of this machine": () => ({
    headers: { Origin: "http://127.0.0.1:1" },
  }),
  "the Origin of our host with another scheme": (self) => ({
    headers: { Origin: `https://${self}` },
  }),
  "a form post, urlencoded": () => ({
    method: "POST",
    path: "/api/sources",
    headers: { Origin: evil, "Content-Type": "application/x-www-form-urlencoded" },
    body: "name=Mine",
  }),
  "a form post of JSON as text/plain": () => ({
    method: "POST",
    path: "/api/sources",
    headers: { Origin: evil, "Content-Type": "text/plain" },
    body: json,
  }),
  "a form post, multipart": () => ({
    method: "POST",
    path: "/api/sources",
    headers: { Origin: evil, "Content-Type": "multipart/form-data; boundary=b" },
    body: `--b\r\nContent-Disposition: form-data; name="name"\r\n\r\nMine\r\n--b--\r\n`,
  }),
  "a no-cors fetch": () => ({
    method: "POST",
    path: "/api/reset",
    headers: {
      Origin: evil,
      "Sec-Fetch-Mode": "no-cors",
      "Sec-Fetch-Site": "cross-site",
      "Content-Type": "text/plain",
    },
    body: `{"what":"everything"}`,
  }),
  "a beacon while the page is left": () => ({
    method: "POST",
    path: "/api/clock",
    headers: {
      Origin: evil,
      "Sec-Fetch-Dest": "empty",
      "Content-Type": "text/plain;charset=UTF-8",
    },
    body: `{"mode":"paused"}`,
  }),
  "a preflight for JSON and the token": () => ({
    method: "OPTIONS",
    path: "/api/sources",
    headers: {
      Origin: evil,
      "Access-Control-Request-Method": "POST",
      "Access-Control-Request-Headers": "authorization,content-type",
    },
  }),
  "a preflight from the public network": () => ({
    method: "OPTIONS",
    path: messages,
    headers: {
      Origin: evil,
      "Access-Control-Request-Method": "DELETE",
      "Access-Control-Request-Private-Network": "true",
    },
  }),
  "a WebSocket": () => ({
    path: "/api/events",
    headers: {
      Origin: evil,
      Connection: "Upgrade",
      Upgrade: "websocket",
      "Sec-WebSocket-Version": "13",
      "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
    },
  }),
  "an EventSource": () => ({
    path: "/api/events",
    headers: { Origin: evil, Accept: "text/event-stream" },
  }),
  "a script whose answer is a call (JSONP)": () => ({
    path: `${messages}?callback=steal`,
    headers: {
      "Sec-Fetch-Dest": "script",
      "Sec-Fetch-Mode": "no-cors",
      Referer: `${evil}/`,
      Authorization: "",
    },
  }),
  "an image": () => ({
    path: messages,
    headers: { "Sec-Fetch-Dest": "image", Accept: "image/*", Authorization: "" },
  }),
  "a frame, and a link that leads here": () => ({
    path: messages,
    headers: { "Sec-Fetch-Dest": "iframe", "Sec-Fetch-Mode": "navigate", Authorization: "" },
  }),
  "a service worker's script": () => ({
    path: messages,
    headers: { "Service-Worker": "script", Referer: `${evil}/`, Authorization: "" },
  }),
  "the token in the query": () => ({
    path: `${messages}?token=${token}&access_token=${token}`,
    headers: { Authorization: "" },
  }),
  "the token in a cookie": () => ({
    path: messages,
    headers: { Cookie: `token=${token}; authorization=Bearer ${token}`, Authorization: "" },
  }),
  "the token as Basic authorization, in the URL": () => ({
    path: messages,
    headers: { Authorization: `Basic ${btoa(`user:${token}`)}` },
  }),
  "another method in a header": () => ({
    method: "POST",
    path: messages,
    headers: { Origin: evil, "X-HTTP-Method-Override": "GET", "Content-Type": "text/plain" },
  }),
};

type Answer = { status: number; headers: IncomingHttpHeaders; text: string };

function attack(
  port: number,
  { method = "GET", path = messages, headers = {}, body }: Attack,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const outgoing = request(
      { host: "127.0.0.1", port, method, path, agent: false, headers },
      (response) => {
        let text = "";
        response.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
        response.on("end", () =>
          resolve({ status: response.statusCode ?? 0, headers: response.headers, text }),
        );
      },
    );
    outgoing.on("error", reject);
    outgoing.end(body);
  });
}

/** All that an attacker could change or want to know. */
async function stateOf({ call }: Targets): Promise<unknown> {
  const [sources, destinations, clock, stats] = await Promise.all([
    call("sources.list", {}),
    call("destinations.list", {}),
    call("clock.get", {}),
    call("stats.get", {}),
  ]);
  return { sources, destinations, mode: clock.mode, messages: stats.messages };
}

/** What the attacker has sent is not revealed by an answer that repeats it. */
function expectNothingRevealed({ text }: Answer, { path = "" }: Attack = {}): void {
  for (const hidden of [secret, token, writeKey, "honest", "Bought"])
    if (!path.includes(hidden)) expect(text).not.toContain(hidden);
}

const corsHeaders = (headers: IncomingHttpHeaders): string[] =>
  Object.keys(headers).filter((name) => name.startsWith("access-control"));

test(`${Object.keys(attacks).length} kinds of attack do nothing at the control API, and reveal nothing`, async () => {
  const targets = await startTargets();
  await targets.sendGood();
  await targets.call("pipeline.settle", {});
  const before = await stateOf(targets);
  const port = targets.ports.control;
  for (const [kind, make] of Object.entries(attacks)) {
    const made = make(`127.0.0.1:${port}`);
    for (const headers of [
      { Authorization: `Bearer ${token}`, ...made.headers },
      { ...made.headers, Authorization: "" },
    ]) {
      const answer = await attack(port, { ...made, headers });
      expect([401, 403], kind).toContain(answer.status);
      expect(corsHeaders(answer.headers), kind).toEqual([]);
      expect(answer.headers, kind).toMatchObject({
        "x-content-type-options": "nosniff",
        "cross-origin-resource-policy": "same-origin",
      });
      expectNothingRevealed(answer);
    }
  }
  expect(await stateOf(targets)).toEqual(before);
  expect(targets.reported).toEqual([]);
});

test("the inspector's own page is not framed, and gives nothing to a page that opens it", async () => {
  const { ports } = await startTargets();
  const answer = await attack(ports.control, { path: "/" });
  expect(answer.headers).toMatchObject({
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
  });
  expect(answer.headers["content-security-policy"]).toMatch(
    /^default-src 'none';.*frame-ancestors 'none'/,
  );
  expectNothingRevealed(answer);
});

test("at the ingest port they are accepted by nobody and reveal nothing, and neither do calls without a write key", async () => {
  const targets = await startTargets();
  await targets.sendGood();
  await targets.call("pipeline.settle", {});
  const before = await stateOf(targets);
  const port = targets.ports.ingest;
  for (const [kind, make] of Object.entries(attacks)) {
    const made = make(`127.0.0.1:${port}`);
    for (const path of [made.path, "/v1/batch", "/v1/track", "/v1/projects/none/settings"]) {
      const answer = await attack(port, { ...made, ...(path === undefined ? {} : { path }) });
      expect(answer.status, kind).toBeLessThan(500);
      if (path !== "/v1/projects/none/settings" && made.method !== "OPTIONS")
        expect(answer.status, kind).toBeGreaterThanOrEqual(400);
      expectNothingRevealed(answer, made);
    }
  }
  expect(await stateOf(targets)).toEqual(before);
  expect(targets.reported).toEqual([]);
});

test("at the endpoints' port they find receivers and nothing else, which no page of another origin can read", async () => {
  const targets = await startTargets();
  await targets.sendGood();
  await targets.call("pipeline.settle", {});
  const before = await stateOf(targets);
  const port = targets.ports.endpoints;
  for (const [kind, make] of Object.entries(attacks)) {
    const made = make(`127.0.0.1:${port}`);
    const answers = [
      await attack(port, made),
      await attack(port, { ...made, path: targets.endpointPath }),
    ];
    expect(
      answers.map(({ status }) => status),
      kind,
    ).toEqual([404, 200]);
    for (const answer of answers) {
      expect(corsHeaders(answer.headers), kind).toEqual([]);
      expectNothingRevealed(answer, made);
    }
  }
  expect(await stateOf(targets)).toEqual(before);
  expect(targets.reported).toEqual([]);
});
