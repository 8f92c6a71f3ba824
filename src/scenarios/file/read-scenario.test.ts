import { describe, expect, test } from "vitest";
import { stepActions } from "../../domain/configuration.ts";
import { forServing, readScenario } from "./read-scenario.ts";

/** `line:column message` of everything that is wrong. */
function problemsOf(text: string): string[] {
  const read = readScenario(text);
  return "problems" in read
    ? read.problems.map(({ line, column, message }) => `${line}:${column} ${message}`)
    : [];
}

const steps = "steps:\n  - advance: 1h\n";
const expecting = (claim: string): string => `name: A\nsteps:\n  - expect: ${claim}\n`;

describe("a file that is no scenario is answered in one line, with the place and with what was expected there", () => {
  test.each([
    ["nothing", "", "1:1 The file is empty. A scenario has at least a name and steps."],
    ["a text", "just text", '1:1 The file must be a mapping, but it is "just text".'],
    ["a list", "- a\n- b", "1:1 The file must be a mapping, but it is a list."],
    ["no steps", "name: A\n", "1:1 steps is missing: a list of steps."],
    [
      "an empty list of steps",
      "name: A\nsteps: []\n",
      "2:8 steps must be a list with at least one step, but it is an empty list.",
    ],
    [
      "an unclosed bracket",
      "name: [\n",
      "2:1 This line is not indented as its neighbours are, or a bracket before it is not closed.",
    ],
    ["a tab", "name: A\n\tseed: 1\n", "2:1 A tab cannot indent in YAML. Use spaces."],
    [
      "two documents",
      `name: A\n${steps}---\nname: B\n`,
      "4:1 A second document begins here. A file contains one scenario.",
    ],
    [
      "a tag",
      `name: !!js x\n${steps}`,
      "1:7 Tags are not supported. Put the value in quotes if it begins with an exclamation mark.",
    ],
    [
      "a member twice",
      "name: A\nname: B\n",
      "2:1 The member name appears twice in one mapping. Keep one of them.",
    ],
    ["a list as a name", "name: A\n? [a, b]\n: c\n", "2:3 The name of a member must be a text."],
    [
      "no number of JSON",
      `name: A\nseed: .inf\n${steps}`,
      "2:7 JSON has no such number. Put it in quotes if a text is meant.",
    ],
  ])("%s", (_, text, problem) => {
    expect(problemsOf(text)[0]).toBe(problem);
  });
});

describe("a cycle is found where it closes", () => {
  test.each([
    ["a: &x\n  b: *x\n", "2:6 The alias *x is inside its own anchor &x, so it would never end."],
    ["name: &n [*n]\n", "1:11 The alias *n is inside its own anchor &n, so it would never end."],
    [
      "a: &x { b: &y { c: *x } }\nd: *y\n",
      "1:20 The alias *x is inside its own anchor &x, so it would never end.",
    ],
    ["name: *nowhere\n", "1:7 There is no anchor &nowhere before this alias."],
  ])("%j", (text, problem) => {
    expect(problemsOf(text)).toEqual([problem]);
  });

  test("and so is a file that grows without end", () => {
    const levels = Array.from(
      { length: 12 },
      (_, level) =>
        `a${level}: &a${level} [${
          level === 0
            ? "x"
            : Array(9)
                .fill(`*a${level - 1}`)
                .join(", ")
        }]`,
    );
    expect(problemsOf(levels.join("\n"))[0]).toContain("The file has more than 200000 values.");
  });
});

describe("what would take long to read is refused at once, in one sentence", () => {
  const step = "  - advance: 1h\n";

  test("a member of a rule that is misspelt is named, with the one that is meant", () => {
    const text =
      "name: m\naudiences: { B: { rule: { event: A, atleast: 2 } } }\nsteps:\n  - advance: 1s\n";
    expect(problemsOf(text)).toEqual(["2:37 atleast is unknown. Did you mean atLeast?"]);
  });

  test.each([
    [
      "too many steps",
      `name: A\nsteps:\n${step.repeat(10_001)}`,
      "1:1 The file has 10,001 steps, more than the 10,000 that are allowed here. Split it into several files.",
    ],
    ["too long", `name: A\n${steps}#${" ".repeat(1_000_000)}`, "1:1 The file has 1,000,0"],
    ["nested too deep", "[".repeat(100_000), "Values are nested more than 200 levels deep"],
  ])("%s", (_, text, problem) => {
    expect(problemsOf(text)[0]).toContain(problem);
  });

  test("where others wait, less is allowed", () => {
    const read = readScenario(`name: A\nsteps:\n${step.repeat(4_001)}`, forServing);
    expect("problems" in read ? read.problems : []).toEqual([
      {
        line: 1,
        column: 1,
        message:
          "The file has 4,001 steps, more than the 4,000 that are allowed here. Run it with hookyard run, which allows more, or split it into several files.",
      },
    ]);
    expect("scenario" in readScenario(`name: A\nsteps:\n${step.repeat(4_000)}`, forServing)).toBe(
      true,
    );
  });

  test("where others wait, no commands run", () => {
    const claim = "{ effects: { command: cat rows, token: u_1, times: 1 } }";
    const text = `name: A\nsteps:\n  - command: restart\n  - expect: ${claim}\n  - expect: [{ clock: { elapsed: 0s } }, ${claim}]\n`;
    expect("scenario" in readScenario(text)).toBe(true);
    const read = readScenario(text, forServing);
    expect(
      "problems" in read ? read.problems.map(({ line, column }) => [line, column]) : [],
    ).toEqual([
      [3, 14],
      [4, 35],
      [5, 64],
    ]);
  });

  test("a mapping of 20,000 members is read in time that grows with its size", () => {
    const members = Array.from({ length: 20_000 }, (_, index) => `  s${index}:\n`).join("");
    expect(problemsOf(`name: A\nsources:\n${members}${steps}`)).toEqual([]);
  });
});

test.each([
  [
    "{ effects: { token: u_1, times: 1 } }",
    "3:24 Say how to ask the receiver: either url or command.",
  ],
  [
    "{ effects: { url: http://a/, token: u_1 } }",
    "3:24 Say what there has to be: either times or sameAs.",
  ],
])("what an expectation of effects lacks: %s", (claim, problem) => {
  expect(problemsOf(expecting(claim))).toEqual([problem]);
});

describe("an unknown member is answered with the one that was probably meant", () => {
  test.each([
    [`name: A\nendpoint:\n  R: []\n${steps}`, "2:1 endpoint is unknown. Did you mean endpoints?"],
    [
      `name: A\nendpoints:\n  R: [{ sttus: 200 }]\n${steps}`,
      "3:9 sttus is unknown. Did you mean status?",
    ],
    ["name: A\nsteps:\n  - sned: 1\n", "3:5 sned is unknown. Did you mean send?"],
    [
      expecting("{ delivery: { state: delivered } }"),
      "3:15 delivery is unknown. Did you mean deliveries?",
    ],
    [
      expecting("{ requests: { body: { $.a: { atleast: 3 } } } }"),
      "3:42 atleast is unknown. Did you mean atLeast?",
    ],
    [
      `name: A\nendpoints: { Receiver: [{}] }\ndestinations:\n  D: { webhooks: [{ endpoint: Reciever }] }\n${steps}`,
      "4:31 There is no endpoint Reciever. Did you mean Receiver?",
    ],
    [
      `name: A\nendpoints: { Receiver: [{}] }\ndestinations:\n  D: { mappings: [{ endpoint: Reciever }] }\n${steps}`,
      "4:31 There is no endpoint Reciever. Did you mean Receiver?",
    ],
    [
      "name: A\nsteps:\n  - send: { type: track, user_id: u }\n",
      "3:35 user_id is unknown. Did you mean userId? A post step sends any body.",
    ],
    [
      expecting("{ attempts: { results: [503x2, 200] } }"),
      '3:37 results[0] must be a status such as 503, or success, http_error, timeout, connection_error or tls_error; several alike as 503 x3, but it is "503x2". Did you mean 503 x2?',
    ],
    [
      expecting("{ attempts: { results: 503 x2 } }"),
      '3:36 results must be a list of results, but it is "503 x2". Put "- " in front of its first line, or [ ] around it.',
    ],
    [
      `name: A\nendpoints:\n  R: [{ status: 503x2 }]\n${steps}`,
      '3:17 status must be a whole number from 200 to 999, but it is "503x2". For several, give the step times: 2.',
    ],
    [
      `name: A\nendpoints:\n  R: [503x2]\n${steps}`,
      '3:7 R[0] must be a mapping, but it is "503x2". Write { status: 503, times: 2 }.',
    ],
    [
      `name: A\nendpoints:\n  R: { steps: [200] }\n${steps}`,
      "3:16 steps[0] must be a mapping, but it is 200. Write { status: 200 }.",
    ],
    [
      `name: A\ndestinations:\n  D: { webhooks: [R] }\n${steps}`,
      '3:19 webhooks[0] must be a mapping, but it is "R". Write { endpoint: NAME }.',
    ],
    [
      `name: A\nendpoints:\n  R: { status: 503 }\n${steps}`,
      '3:6 R must be a list. Put "- " in front of its first line, or [ ] around it.',
    ],
    [
      `name: A\nendpoints:\n  - name: R\n${steps}`,
      '3:3 endpoints must be a mapping of names, but it is a list. Write "R:" instead of "- name: R".',
    ],
    [
      "name: A\nsteps:\n  send: { type: track }\n",
      '3:3 steps must be a list of steps, but it is a mapping. Put "- " in front of its first line, or [ ] around it.',
    ],
    [
      "name: A\nsteps:\n  - send: { type: track }\n    from: Shop\n",
      "4:11 There is no source Shop. Known: Source.",
    ],
    [
      "name: A\nsteps:\n  - change: { sources: { X: { mode: explain } } }\n",
      "3:26 There is no source X. Known: Source.",
    ],
    [
      expecting("{ deliveries: { of: { destination: Nope } } }"),
      "3:48 There is no destination Nope. There are none.",
    ],
  ])("%j", (text, problem) => {
    expect(problemsOf(text)).toEqual([problem]);
  });
});

describe("a value that does not fit is shown beside what was expected", () => {
  test.each([
    [`name: 7\n${steps}`, "1:7 name must be a text, but it is 7."],
    [`name: A\nseed: x\n${steps}`, '2:7 seed must be a whole number, but it is "x".'],
    [
      `name: A\nstartAt: yesterday\n${steps}`,
      '2:10 startAt must be a time such as 2026-11-21T09:00:00Z, but it is "yesterday".',
    ],
    [
      `name: A\nstartAt: 1969-12-31T23:59:59Z\n${steps}`,
      "2:10 startAt must be a time from 1970 to 2999.",
    ],
    [
      `name: A\nstartAt: 2999-12-31T23:00:00-02:00\n${steps}`,
      "2:10 startAt must be a time from 1970 to 2999.",
    ],
    [
      `name: A\nstartAt: 9999-12-31T00:00:00Z\n${steps}`,
      "2:10 startAt must be a time from 1970 to 2999.",
    ],
    ["name: A\nsteps:\n  - wait: 70s\n", "3:11 wait must be at most 60s."],
    [
      `name: A\nsettings: { jitter: maybe }\n${steps}`,
      '2:21 jitter must be true or false, but it is "maybe".',
    ],
    [
      `name: A\nendpoints:\n  R: { steps: [{ do: hangs }] }\n${steps}`,
      `3:22 do must be ${stepActions.slice(0, -1).join(", ")} or ${stepActions.at(-1)}, but it is "hangs".`,
    ],
    [
      `name: A\ndestinations:\n  D: {}\n${steps}`,
      "3:6 A destination has either webhooks or mappings.",
    ],
    [
      `name: A\ndestinations:\n  D: { webhooks: [{}] }\n${steps}`,
      "3:19 A webhook has either an endpoint, by its name, or a url.",
    ],
    [
      `name: A\ndestinations:\n  D: { webhooks: [{ url: 'ftp://x' }] }\n${steps}`,
      "3:26 The URL must start with http:// or https://, not ftp://.",
    ],
    [
      `name: A\ndestinations:\n  D: { mappings: [{ url: 'ftp://x' }] }\n${steps}`,
      "3:26 The URL must start with http:// or https://, not ftp://.",
    ],
    [
      `name: A\nsettings: { vendor: My Company }\n${steps}`,
      '2:21 vendor must be a product token: letters, digits and -._ without spaces, but it is "My Company".',
    ],
    [
      `name: A\ndestinations:\n  D: { webhooks: [{ url: 'http://x/', headers: { X-Signature: a } }] }\n${steps}`,
      "3:63 Hookyard sets the header X-Signature itself. Remove it from the webhook.",
    ],
    ["name: A\nsteps:\n  - {}\n", "3:5 This step does nothing. It needs one of send, post, "],
    [
      "name: A\nsteps:\n  - send: { type: track }\n    advance: 1h\n",
      "4:5 A step does one thing: move advance out of the step with send.",
    ],
    [
      "name: A\nsteps:\n  - advance: 90 minutes\n",
      '3:14 advance must be a duration such as 90m, or next-due, or idle, but it is "90 minutes".',
    ],
    [
      "name: A\nsteps:\n  - send: { type: trak }\n",
      '3:19 type must be identify, track, page, screen, group or alias, but it is "trak".',
    ],
    [
      "name: A\nsources: { A: , B: }\nsteps:\n  - send: { type: track }\n",
      "4:5 There are several sources, so name the one that sends: from: A.",
    ],
    [
      expecting("{ deliveries: { count: two } }"),
      '3:36 count must be a whole number, or a mapping of atLeast, atMost, but it is "two".',
    ],
    [
      expecting("{ attempts: { results: [503 x0] } }"),
      '3:37 results[0] must be a status such as 503, or success, http_error, timeout, connection_error or tls_error; several alike as 503 x3, but it is "503 x0".',
    ],
    [
      expecting("{ requests: { body: { total: 3 } } }"),
      "3:35 total is not a path into JSON. Write a path such as $.properties.items[0].sku or $['unit price'].",
    ],
    [
      expecting("{ requests: { body: { $.a: { matches: '(' } } } }"),
      "3:51 matches is not a valid regular expression.",
    ],
  ])("%j", (text, problem) => {
    expect(problemsOf(text)[0]).toContain(problem);
  });

  test("everything that is wrong is told at once, in the order of the file", () => {
    expect(
      problemsOf("name: 7\nseed: x\nsteps:\n  - advance: soon\n").map((line) => line.split(" ")[0]),
    ).toEqual(["1:7", "2:7", "4:14"]);
  });
});

describe("an expectation that could be met by nothing is refused", () => {
  test.each([
    [
      expecting("{}"),
      "3:13 An expectation is about something: messages, deliveries, attempts, requests, ",
    ],
    [
      expecting("{ deliveries: { count: 0 } }"),
      "3:36 count must be at least 1; for none, write never: true, but it is 0.",
    ],
    ...[
      "deliveries: { rounds: { atLeast: 5, atMost: 2 }, never: true }",
      "deliveries: { count: { atLeast: 5, atMost: 2 } }",
      "deliveries: { took: { atLeast: 1h, atMost: 2m } }",
      "clock: { nextDue: { atLeast: 1h, atMost: 2m } }",
      "attempts: { body: { $.a: { atLeast: 5, atMost: 2 } } }",
      "effects: { url: http://127.0.0.1:1/, token: a, times: { atLeast: 2, atMost: 1 } }",
    ].map((claim): [string, string] => [
      expecting(`{ ${claim} }`),
      `3:${15 + claim.indexOf("{ atLeast")} atLeast is more than atMost, so nothing fits.`,
    ]),
    [
      expecting("{ effects: { url: http://127.0.0.1:1/, token: a, sameAs: a } }"),
      "3:70 sameAs must be another token: what is shown about one is always the same as itself.",
    ],
    [
      expecting("{ deliveries: { never: true, count: 2 } }"),
      "3:49 never means that none exists, so it cannot be combined with count.",
    ],
    [
      expecting("{ deliveries: { never: false } }"),
      "3:36 never must be true, or left out, but it is false.",
    ],
  ])("%j", (text, problem) => {
    expect(problemsOf(text)[0]).toContain(problem);
  });
});

test("attempts are selected by the URL of a mapping, or by any that a directive makes", () => {
  const text = (url: string): string =>
    `name: A\ndestinations: { D: { mappings: [{ url: ${url} }] } }\nsteps:\n  - expect: { attempts: { of: { webhook: 'http://x/a' }, never: true } }\n`;
  expect(problemsOf(text("http://x/a"))).toEqual([]);
  expect(problemsOf(text("{ '@template': 'http://x/{{event}}' }"))).toEqual([]);
  expect(problemsOf(text("http://x/b"))).toEqual([
    "4:42 http://x/a is unknown. Did you mean http://x/b?",
  ]);
});

test("where the runs of one file could differ, the file is refused", () => {
  const webhook = "{ webhooks: [{ endpoint: R }] }";
  const text = `name: A\nendpoints: { R: [{ status: 503 }, {}] }\ndestinations: { A: ${webhook}, B: ${webhook} }\n${steps}`;
  expect(problemsOf(text)).toEqual([
    "3:81 Another webhook already uses the endpoint R, so the requests that its steps serve would differ from run to run. Give this one its own endpoint.",
  ]);
  expect(problemsOf(text.replace(", {}]", "]"))).toEqual([]);
});

test("a step is checked with what the changes before it have made", () => {
  const at = (endpoint: string): string => `{ webhooks: [{ endpoint: ${endpoint} }] }`;
  const text = (...changes: string[]): string => `name: A
endpoints: { R: [{ status: 503 }, {}], S: [{ status: 503 }, {}] }
destinations: { A: ${at("R")}, B: ${at("S")} }
steps:
${changes.map((change) => `  - change: ${change}\n`).join("")}`;
  const exchange = `{ destinations: { A: ${at("S")}, B: ${at("R")} } }`;
  const moved = `{ destinations: { A: ${at("S")} } }`;
  expect(problemsOf(text(exchange, exchange))).toEqual([]);
  expect(problemsOf(text(exchange, `{ destinations: { A: ${at("R")} } }`))[0]).toMatch(
    /^6:.* Another webhook already uses the endpoint R,/,
  );
  expect(problemsOf(text(moved))[0]).toContain("already uses the endpoint S");
  const hold = "{ endpoints: { R: [{ do: forward, to: 'http://127.0.0.1:1/', hold: 3 }] } }";
  const lanes = (number: number): string => `{ settings: { laneConnections: ${number} } }`;
  expect(problemsOf(text(lanes(3), hold))).toEqual([]);
  expect(problemsOf(text(lanes(3), moved))).toEqual([]);
  expect(problemsOf(text(hold, lanes(3)))[0]).toContain("laneConnections is 1 here");
  expect(problemsOf(text(lanes(3), lanes(2), hold))[0]).toContain("laneConnections is 2 here");
});
