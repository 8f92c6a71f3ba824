import type { ChildProcess } from "node:child_process";
import { spawn } from "node:child_process";
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import type { AddressInfo } from "node:net";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { certificate } from "../../test/support/raw-receiver.ts";
import { startReceiver } from "../../test/support/webhook-receiver.ts";
import { program } from "../../test/support/program.ts";
import { freePorts } from "../../test/support/free-ports.ts";

let directory: string;
const children: ChildProcess[] = [];
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "hookyard-serve-"));
});
afterEach(async () => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
  rmSync(directory, { recursive: true });
});

const serve = (...flags: string[]) => serveIn({}, ...flags);

function serveIn(environment: Record<string, string>, ...flags: string[]) {
  const child = spawn(process.execPath, [program, "serve", ...flags], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, ...environment },
  });
  children.push(child);
  let err = "";
  child.stderr.on("data", (chunk: Buffer) => (err += chunk.toString()));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const ended = new Promise<{ code: number | null; err: string }>((resolve) =>
    child.on("close", (code) => resolve({ code, err })),
  );
  return { child, ended, line: async () => String((await lines.next()).value), said: () => err };
}

type Ready = {
  event: string;
  ingestUrl: string;
  uiUrl: string;
  token: string;
  endpointsUrl: string;
  endpointsTlsUrl: string;
  dataDir: string | null;
};

describe("hookyard serve", () => {
  test("says where it is in its first line, serves its API there, and ends on SIGTERM with what it had stored", async () => {
    const first = serve("--data", directory, ...freePorts, "--json");
    const ready = JSON.parse(await first.line()) as Ready;
    expect(ready).toEqual({
      event: "ready",
      ingestUrl: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
      uiUrl: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
      token: expect.stringMatching(/^[\w-]{43}$/),
      endpointsUrl: expect.stringMatching(/^http:/),
      endpointsTlsUrl: expect.stringMatching(/^https:/),
      dataDir: directory,
    });
    expect(statSync(join(directory, "token")).mode & 0o777).toBe(0o600);
    const headers = { Authorization: `Bearer ${ready.token}` };
    const made = await fetch(`${ready.uiUrl}/api/sources`, {
      method: "POST",
      headers,
      body: '{"name":"Web"}',
    });
    expect(made.status).toBe(201);
    expect((await fetch(`${ready.uiUrl}/`)).headers.get("content-type")).toContain("text/html");
    const events = await fetch(`${ready.uiUrl}/api/events`, { headers });
    first.child.kill("SIGTERM");
    // The stream is ended, not cut.
    expect(await events.text()).toMatch(/^id: \d+\n\n/);
    expect(await first.ended).toEqual({ code: 0, err: "" });

    const second = serve("--data", directory, ...freePorts, "--json");
    const again = JSON.parse(await second.line()) as Ready;
    expect(again.token).toBe(ready.token);
    const sources = await fetch(`${again.uiUrl}/api/sources`, { headers });
    expect(await sources.json()).toMatchObject({ items: [{ name: "Web" }] });

    second.child.kill("SIGINT");
    expect((await second.ended).code).toBe(0);
  });

  test("sends traces where --traces or the environment says, and to no other machine unasked", async () => {
    const collector = await startReceiver();
    const variable = "OTEL_EXPORTER_OTLP_ENDPOINT";
    const running = serveIn(
      { [variable]: collector.url },
      "--data",
      ":memory:",
      ...freePorts,
      "--json",
    );
    const ready = JSON.parse(await running.line()) as Ready;
    await fetch(`${ready.uiUrl}/api/sources`, {
      method: "POST",
      headers: { Authorization: `Bearer ${ready.token}` },
      body: '{"name":"Web","writeKey":"key"}',
    });
    await fetch(`${ready.ingestUrl}/v1/track`, {
      method: "POST",
      headers: { Authorization: `Basic ${btoa("key:")}` },
      body: '{"userId":"u","event":"A"}',
    });
    // Not at the stop, which gives a collector only a second.
    await expect.poll(() => collector.requests.length).toBe(1);
    running.child.kill("SIGTERM");
    expect(await running.ended).toEqual({ code: 0, err: "" });
    expect(collector.requests.map(({ url }) => url)).toEqual(["/hook/v1/traces"]);
    await collector.stop();

    const elsewhere = { [variable]: "http://traces.example.com" };
    const warned = serveIn(elsewhere, "--data", ":memory:", ...freePorts, "--json");
    await warned.line();
    warned.child.kill("SIGTERM");
    expect(await warned.ended).toEqual({
      code: 0,
      err: expect.stringContaining("names another machine, so no traces are sent"),
    });
  });

  test("prints the inspector's address with the token for people, and reads a configuration", async () => {
    const file = join(directory, "configuration.json");
    writeFileSync(file, '{"version":1,"sources":[{"name":"Web","writeKey":"k"}]}');
    const running = serve("--data", ":memory:", ...freePorts, "--config", file);
    let text = "";
    while (!text.includes("Data")) text += `${await running.line()}\n`;
    const [, uiUrl, token] = /(http:\/\/127\.0\.0\.1:\d+)\/#token=([\w-]{43})/.exec(text) ?? [];
    const sources = await fetch(`${uiUrl}/api/sources`, {
      headers: { Authorization: `Bearer ${token}` },
    });
    expect(await sources.json()).toMatchObject({ items: [{ name: "Web", writeKey: "k" }] });
    running.child.kill("SIGTERM");
    expect(await running.ended).toEqual({ code: 0, err: "" });
  });

  test("warns when others than this machine may reach it, and gives addresses at which this machine reaches it", async () => {
    const running = serve("--data", ":memory:", ...freePorts, "--host", "0.0.0.0", "--json");
    const local = expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/) as string;
    expect(JSON.parse(await running.line())).toMatchObject({
      event: "ready",
      ingestUrl: local,
      uiUrl: local,
      endpointsUrl: local,
    });
    running.child.kill("SIGTERM");
    expect(await running.ended).toEqual({
      code: 0,
      err: expect.stringMatching(/^Warning: Hookyard listens on 0\.0\.0\.0\. .*\n$/),
    });
  });

  test.runIf(process.platform === "linux")(
    "opens the inspector with its token when asked to, which no argument of a program shows",
    async () => {
      const opened = join(directory, "opened");
      writeFileSync(
        join(directory, "xdg-open"),
        `#!/bin/sh\nprintf %s "$1" > "${opened}.part" && mv "${opened}.part" "${opened}"\n`,
        {
          mode: 0o755,
        },
      );
      const flags = ["--data", ":memory:", ...freePorts, "--json", "--open"];
      const running = serveIn({ PATH: `${directory}:${process.env["PATH"]}` }, ...flags);
      const { uiUrl, token } = JSON.parse(await running.line()) as Ready;
      await expect.poll(() => existsSync(opened)).toBe(true);
      const argument = readFileSync(opened, "utf8");
      expect(argument).not.toContain(token);
      const led = await fetch(argument, { redirect: "manual" });
      expect(new URL(led.headers.get("location") ?? "", argument).href).toBe(
        `${uiUrl}/#token=${token}`,
      );
      running.child.kill("SIGTERM");
      expect(await running.ended).toEqual({ code: 0, err: "" });
    },
  );

  test.runIf(process.platform === "linux")(
    "delivers to who has a certificate of an authority in NODE_EXTRA_CA_CERTS or SSL_CERT_FILE, and without it to nobody",
    async () => {
      const receiver = await startReceiver(200, {
        ...certificate("valid"),
        host: "valid.localhost",
      });
      const authority = join(directory, "authority.pem");
      writeFileSync(authority, certificate("authority").cert);
      const stateIn = async (environment: Record<string, string>) => {
        const running = serveIn(environment, "--data", ":memory:", ...freePorts, "--json");
        const { ingestUrl, uiUrl, token } = JSON.parse(await running.line()) as Ready;
        const ask = async (path: string, body?: object) => {
          const asked = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
          const answer = await fetch(`${uiUrl}/api/${path}`, {
            ...asked,
            headers: { Authorization: `Bearer ${token}` },
          });
          return (await answer.json()) as { id: string; items: { state: string }[] };
        };
        const { id } = await ask("sources", { name: "Web", writeKey: "k" });
        await ask("destinations", {
          name: "Billing",
          sourceIds: [id],
          webhooks: [{ url: receiver.url }],
        });
        await fetch(`${ingestUrl}/v1/track`, {
          method: "POST",
          body: '{"writeKey":"k","userId":"u","event":"e"}',
        });
        await ask("settle", {});
        return (await ask("deliveries")).items.map(({ state }) => state);
      };
      expect(await stateIn({ NODE_EXTRA_CA_CERTS: authority })).toEqual(["delivered"]);
      // Where Linux has the system's store from.
      expect(await stateIn({ SSL_CERT_FILE: authority })).toEqual(["delivered"]);
      expect(await stateIn({})).toEqual(["failed"]);
      expect(receiver.requests).toHaveLength(2);
      await receiver.stop();
    },
  );

  test("connects to its webhooks and to nothing else", async () => {
    const receiver = await startReceiver(200);
    const dialled = join(directory, "dialled");
    // Every connection of the process goes through here, whatever makes it.
    const watch = `import { appendFileSync } from "node:fs";
import { Socket } from "node:net";
const { connect } = Socket.prototype;
Socket.prototype.connect = function (...to) {
  const [{ host, port }] = Array.isArray(to[0]) ? to[0] : to;
  appendFileSync(${JSON.stringify(dialled)}, host + ":" + port + "\\n");
  return connect.apply(this, to);
};`;
    writeFileSync(join(directory, "watch.mjs"), watch);
    const running = serveIn(
      { NODE_OPTIONS: `--import ${pathToFileURL(join(directory, "watch.mjs")).href}` },
      "--data",
      ":memory:",
      ...freePorts,
      "--json",
    );
    const { ingestUrl, uiUrl, token } = JSON.parse(await running.line()) as Ready;
    const ask = async (path: string, body: object) => {
      const headers = { Authorization: `Bearer ${token}` };
      return (await (
        await fetch(`${uiUrl}/api/${path}`, { method: "POST", headers, body: JSON.stringify(body) })
      ).json()) as {
        id: string;
      };
    };
    const { id } = await ask("sources", { name: "Web", writeKey: "k" });
    await ask("destinations", {
      name: "Billing",
      sourceIds: [id],
      webhooks: [{ url: receiver.url }],
    });
    await ask("audiences", { name: "All", members: ["u"] });
    for (const event of ["a", "b"])
      await fetch(`${ingestUrl}/v1/track`, {
        method: "POST",
        body: JSON.stringify({ writeKey: "k", userId: "u", event }),
      });
    await ask("deletions", { userIds: ["u"] });
    await ask("settle", {});
    running.child.kill("SIGTERM");
    expect((await running.ended).code).toBe(0);
    expect(receiver.requests.length).toBeGreaterThanOrEqual(4);
    expect(new Set(readFileSync(dialled, "utf8").trimEnd().split("\n"))).toEqual(
      new Set([new URL(receiver.url).host]),
    );
    await receiver.stop();
  });

  test("leaves a closed database behind, and ends with 1 when it cannot start", async () => {
    const first = serve("--data", directory, ...freePorts, "--json");
    await first.line();
    first.child.kill("SIGTERM");
    await first.ended;
    const left = readdirSync(directory).toSorted();
    expect(left.filter((file) => /-wal|-shm/.test(file))).toEqual([]);
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
    const { port } = other.address() as AddressInfo;
    const refused = await serve("--data", directory, ...freePorts, "--ui-port", String(port)).ended;
    await new Promise((resolve) => other.close(resolve));
    expect(refused).toEqual({
      code: 1,
      err: expect.stringMatching(new RegExp(`^Port ${port} .*--ui-port .*\n$`)),
    });
    expect(readdirSync(directory).toSorted()).toEqual(left);
  });

  test("says why it did not end as it should, and closes the database all the same", async () => {
    writeFileSync(
      join(directory, "fault.mjs"),
      'import { Server } from "node:net"; Server.prototype.close = () => { throw new Error("planted"); };',
    );
    const running = serveIn(
      { NODE_OPTIONS: `--import ${pathToFileURL(join(directory, "fault.mjs")).href}` },
      ...["--data", directory, ...freePorts, "--json"],
    );
    await running.line();
    running.child.kill("SIGTERM");
    expect(await running.ended).toEqual({
      code: 1,
      err: "Hookyard ended with an error: planted\n",
    });
    expect(readdirSync(directory).filter((file) => /-wal|-shm/.test(file))).toEqual([]);
  });

  test("ends at once on a second signal", async () => {
    const running = serve("--data", ":memory:", ...freePorts, "--json");
    const { uiUrl, token } = JSON.parse(await running.line()) as Ready;
    // A request that is not complete: the first signal waits for it.
    const { host, hostname, port } = new URL(uiUrl);
    const caller = connect(Number(port), hostname);
    caller.on("error", () => undefined);
    const headers = `Host: ${host}\r\nAuthorization: Bearer ${token}\r\nContent-Length: 2\r\nExpect: 100-continue\r\n`;
    caller.write(`POST /api/sources HTTP/1.1\r\n${headers}\r\n`);
    await new Promise((resolve) => caller.once("data", resolve));
    // Both signals have arrived when it goes on.
    for (const signal of ["SIGSTOP", "SIGINT", "SIGTERM", "SIGCONT"] as const)
      running.child.kill(signal);
    expect((await running.ended).code).toBe(130);
  });

  test("reports an error that nobody expected with its time, and goes on", async () => {
    writeFileSync(
      join(directory, "fault.mjs"),
      'process.on("SIGUSR2", () => { Promise.reject(new Error("planted rejection")); throw new Error("planted error"); });',
    );
    const running = serveIn(
      { NODE_OPTIONS: `--import ${pathToFileURL(join(directory, "fault.mjs")).href}` },
      "--data",
      ":memory:",
      ...freePorts,
      "--json",
    );
    const { uiUrl, token } = JSON.parse(await running.line()) as Ready;
    running.child.kill("SIGUSR2");
    await expect
      .poll(running.said)
      .toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z Error: planted (?:error|rejection)\n    at /);
    await expect.poll(running.said).toContain("planted error");
    await expect.poll(running.said).toContain("planted rejection");
    const answer = await fetch(`${uiUrl}/api/clock`, {
      headers: { Authorization: `Bearer ${token}` },
    });
    expect(answer.status).toBe(200);
    running.child.kill("SIGTERM");
    expect((await running.ended).code).toBe(0);
  });
});
