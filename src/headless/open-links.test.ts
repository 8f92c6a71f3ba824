import { describe, expect, onTestFinished, test } from "vitest";
import { send, startControlPort, token } from "./control-port.fixture.ts";
import { createOpenLinks, usersOf } from "./open-links.ts";

const used = { refusal: expect.stringMatching(/^This link was used already/) };
const tooOld = { refusal: expect.stringMatching(/^This link is too old\./) };

test("a link leads to the inspector once, and for half a minute", () => {
  let now = 0;
  const links = createOpenLinks({ token: "t", now: () => now });
  const [first, second, third] = [links.create([]), links.create([]), links.create([])];
  expect(new Set([first, second, third]).size).toBe(3);
  expect(links.follow(first, [])).toEqual({ location: "/#token=t" });
  expect(links.follow(first, [])).toEqual(used);
  now = 30_000;
  expect(links.follow(second, [])).toEqual({ location: "/#token=t" });
  now = 30_001;
  expect(links.follow(third, [])).toEqual(tooOld);
  expect(links.follow(first, [])).toEqual(used);
  expect(links.follow("/open/other", [])).toEqual(tooOld);
  for (let made = 0; made < 200; made += 1) links.create([]);
  expect(links.follow(first, [])).toEqual(tooOld);
});

test("a link is for the user of the program, who made it, and root", () => {
  const links = createOpenLinks({ token: "t", own: 1000 });
  const followed = [[1000], [1001], [0], []].map((by) => links.follow(links.create([1001]), by));
  expect(followed).toEqual(followed.map(() => ({ location: "/#token=t" })));
  const other = links.create([1001]);
  expect(links.follow(other, [1000, 1002])).toEqual({
    refusal: "This link is for another user of this machine.",
  });
  expect(links.follow(other, [1001])).toEqual({ location: "/#token=t" });
});

describe("whose a connection is", () => {
  const head =
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n";
  const row = (local: string, remote: string, user: number): string =>
    `   0: ${local} ${remote} 01 00000000:00000000 00:00000000 00000000  ${user}        0 123 1 0 20 4 30 10 -1\n`;
  const ports = { localPort: 0x125d, remotePort: 0x9c40 };
  const server = row("0100007F:125D", "0100007F:9C40", 1000);
  const client = (user: number): string => row("0100007F:9C40", "0100007F:125D", user);

  test.each([
    ["one", [head + server + client(1000)], [1000]],
    ["of root", [head + client(0)], [0]],
    ["over IPv6", [head, head + client(1001).replaceAll("0100007F", "0".repeat(32))], [1001]],
    ["of two with the same ports", [head + client(1000) + client(1001)], [1000, 1001]],
    ["to another port", [head + row("0100007F:9C40", "0100007F:125E", 1001)], []],
    ["of another machine", [head + server], []],
    ["unknown", [], []],
  ])("%s", (_, tables, expected) => {
    expect(usersOf(ports, tables)).toEqual(expected);
  });
});

test("the control port makes links for who has the token, and follows them without it", async () => {
  const port = await startControlPort();
  onTestFinished(() => port.stop());
  const unknown = { headers: { Authorization: "" } };
  expect(await port.send("POST", "/open/", unknown)).toMatchObject({ status: 401 });
  expect(await port.send("GET", "/open/")).toMatchObject({ status: 405 });
  const made = await port.send("POST", "/open/");
  const { path } = made.json() as { path: string };
  expect(path).toMatch(/^\/open\/[\w-]{43}$/);
  for (const method of ["HEAD", "POST"])
    expect(await port.send(method, path, unknown)).toMatchObject({ status: 405 });
  const foreign = { headers: { Host: "evil.example" } };
  expect(await send(port.url, "GET", path, foreign)).toMatchObject({ status: 403 });
  expect(await port.send("GET", path, unknown)).toMatchObject({
    status: 303,
    headers: { location: `/#token=${token}`, "cache-control": "no-store" },
    text: "",
  });
  const again = await port.send("GET", path);
  expect([again.status, again.text]).toEqual([403, expect.stringContaining("used already")]);
  expect(again.text).not.toContain(token);
});
