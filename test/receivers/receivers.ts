/**
 * Receivers that `hookyard check` is tested against: right ones of different style, and wrong ones
 * with one bug each. Those on Node run in this process. Every program prints the port of a receiver
 * on a line, and ends with its standard input; one that starts slowly has many receivers.
 */

import {
  execFile,
  spawn,
  spawnSync,
  type ChildProcessWithoutNullStreams,
} from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { NodeReceiver } from "./node-receiver.ts";
import { NodeShop } from "./node-shop.ts";

export const languages = ["node", "python", "go", "java", "ruby", "php"] as const;
type Language = (typeof languages)[number];

export type ReceiverEntry = {
  name: string;
  language: Language;
  /** Null for a right one. */
  bug: string | null;
  style?: string;
  /** The checks that must fail or warn. */
  finds: readonly string[];
  /** Checks that may also fail or warn, for the same reason. */
  allowed: readonly string[];
};

/** It verifies the bytes that arrived, and does not ask for a content type. Both are right. */
const always = ["signature-restringified", "wrong-content-type"];

/** A bug that any request may meet. */
const anything = [
  ...[
    "answers",
    "in-time",
    "in-time-under-load",
    "types",
    "unknown-type",
    "unknown-members",
    "empty-properties",
    "no-user-id",
  ],
  ...[
    "big",
    "unicode",
    "deep",
    "numbers",
    "signature-wrong",
    "signature-missing",
    "signature-of-other-body",
    "signature-truncated",
  ],
  ...[
    "signature-raw-body",
    "bad-json",
    "empty-body",
    "get",
    "duplicate",
    "duplicate-together",
    "retry-after-lost-answer",
  ],
  ...[
    "retry-after-timeout",
    "failed-means-not-done",
    "order",
    "alive-after",
    "keep-alive",
    "connection-per-request",
    "slow-request",
  ],
  ...["many-connections", "replayed-late"],
];

function right(language: Language, style: string): ReceiverEntry {
  return { name: `${language}: ${style}`, language, bug: null, style, finds: [], allowed: always };
}

function wrong(
  language: Language,
  bug: string,
  finds: readonly string[],
  allowed: readonly string[] = [],
): ReceiverEntry {
  return { name: `${language}: ${bug}`, language, bug, finds, allowed: [...always, ...allowed] };
}

const everySignature = [
  "signature-wrong",
  "signature-missing",
  "signature-of-other-body",
  "signature-truncated",
];
const everyCopy = [
  "duplicate",
  "duplicate-together",
  "retry-after-lost-answer",
  "retry-after-timeout",
  "replayed-late",
];

export const receivers: readonly ReceiverEntry[] = [
  right("node", "keep-alive"),
  right("node", "slow"),
  right("node", "page"),
  right("node", "conflict"),
  right("python", "no-content"),
  right("python", "strict"),
  right("go", "chunked"),
  right("java", "queue"),
  right("ruby", "http-1.0"),
  right("php", "file-store"),

  wrong("node", "signature-not-verified", everySignature),
  wrong("node", "signature-prefix", ["signature-truncated"]),
  wrong("node", "verifies-restringified", ["signature-raw-body"]),
  wrong("node", "verifies-latin1", ["unicode"], ["signature-raw-body"]),
  wrong("node", "signature-cache", ["signature-of-other-body"]),
  wrong("node", "verifies-after-work", everySignature),
  wrong("node", "content-type-crash", ["wrong-content-type"], ["empty-body"]),
  wrong("node", "unknown-type-crash", ["unknown-type"]),
  wrong("node", "body-limit", ["big"]),
  wrong("node", "bad-json-exit", ["bad-json", "alive-after"], anything),
  wrong("node", "too-slow", ["in-time"], anything),
  wrong("node", "delete-not-found", ["types"]),
  wrong("node", "fails-after-work", ["failed-means-not-done", "types"]),
  wrong("node", "marks-after-answer", ["retry-after-lost-answer"], ["retry-after-timeout"]),
  wrong(
    "node",
    "duplicate-race",
    ["duplicate-together"],
    ["retry-after-lost-answer", "retry-after-timeout"],
  ),
  wrong("node", "ten-minute-memory", ["replayed-late"]),
  wrong("node", "hundred-ids", ["replayed-late"]),
  wrong("node", "older-identify-wins", ["order"]),
  wrong("node", "leaks-when-hung-up", ["alive-after"], anything),
  wrong("node", "connection-limit", ["many-connections"]),
  wrong("node", "second-request-reset", ["keep-alive"], anything),
  wrong("node", "connection-close-reset", ["connection-per-request"], anything),

  wrong("python", "missing-signature-accepted", ["signature-missing"]),
  wrong("python", "verifies-trimmed", ["signature-raw-body"], ["signature-of-other-body"]),
  wrong("python", "empty-properties-crash", ["empty-properties"], ["types"]),
  wrong("python", "ascii-only", ["unicode"], ["signature-raw-body"]),
  wrong("python", "group-ignored", ["types"]),
  wrong("python", "claimed-then-failed", ["types"], ["failed-means-not-done"]),
  wrong(
    "python",
    "duplicate-race",
    ["duplicate-together"],
    ["retry-after-lost-answer", "retry-after-timeout"],
  ),
  wrong("python", "global-lock", ["in-time-under-load"], ["many-connections", "alive-after"]),
  wrong("python", "get-not-implemented", ["get"]),
  wrong("python", "no-content-with-body", ["keep-alive"], anything),

  wrong("go", "no-idempotency", everyCopy),
  wrong("go", "unknown-members-panic", ["unknown-members"]),
  wrong("go", "unknown-type-panic", ["unknown-type"]),
  wrong("go", "empty-body-panic", ["empty-body"]),
  wrong("go", "reads-once", ["slow-request"], ["big", "deep", "unicode", "numbers"]),
  wrong("go", "abandoned-work", ["retry-after-lost-answer"], ["retry-after-timeout"]),
  wrong("go", "delete-without-id", ["types"]),

  wrong("java", "recursion-limit", ["deep"]),
  wrong("java", "int-32", ["numbers"]),
  wrong("java", "bad-json-crash", ["bad-json"], ["empty-body"]),
  wrong("java", "verifies-ascii", ["unicode"], ["signature-raw-body"]),
  wrong("java", "older-identify-wins", ["order"]),
  wrong("java", "leaks-when-refusing", ["alive-after"], anything),

  wrong("ruby", "no-user-id-crash", ["no-user-id"]),
  wrong("ruby", "delete-not-found", ["types"]),
  wrong("ruby", "no-idempotency", everyCopy),

  wrong("php", "signature-length", ["signature-wrong", "signature-of-other-body"]),
  wrong("php", "alias-refused", ["types"]),
  wrong("php", "get-fails", ["get"]),
];

export type ShopEntry = {
  name: string;
  /** Null for the right one. */
  bug: string | null;
  /** The smallest schedule in which it shows. */
  needs: string;
};

/** For searches: bugs that need several steps. */
export const shops: readonly ShopEntry[] = [
  { name: "right", bug: null, needs: "nothing is wrong in any schedule" },
  {
    name: "race",
    bug: "marks-after-account",
    needs: "the first message of a user, which takes 100 ms, and a copy of it together with it",
  },
  {
    name: "lost answer",
    bug: "remembers-in-memory",
    needs: "a message whose answer is lost, a restart, its retry",
  },
  {
    name: "order of identifies",
    bug: "older-identify-wins",
    needs: "an identify, and then an older one of the same user",
  },
  {
    name: "order of three",
    bug: "refunds-twice",
    needs: "Order Refunded, Order Completed, Cart Updated of one user, in this order",
  },
];

const folder = fileURLToPath(new URL("./", import.meta.url));
const versionOf: Record<Language, readonly [string, string]> = {
  node: [process.execPath, "--version"],
  python: ["python3", "--version"],
  go: ["go", "version"],
  // The compiler takes a third of a second to say its version.
  java: ["java", "-version"],
  ruby: ["ruby", "--version"],
  php: ["php", "--version"],
};

/** Why the receivers in this language cannot run here, or null. */
export function missing(language: Language): string | null {
  const [command, flag] = versionOf[language];
  return spawnSync(command, [flag]).status === 0
    ? null
    : `The receivers in ${language} are not tried, because ${command} is not here.`;
}

type Command = readonly [string, ...string[]];

async function commandOf(language: Exclude<Language, "node">): Promise<Command> {
  switch (language) {
    case "python":
      return ["python3", join(folder, "receiver.py")];
    case "ruby":
      return ["ruby", join(folder, "receiver.rb")];
    case "php":
      return ["php", join(folder, "receiver.php")];
    case "go": {
      const into = await built("receiver.go", (source, to) => [
        ...(["go", "build", "-o"] as const),
        ...[join(to, "receiver"), source],
      ]);
      return [join(into, "receiver")];
    }
    case "java": {
      const into = await built("Receiver.java", (source, to) => ["javac", "-d", to, source]);
      // These three make it start in half of the time.
      const flags = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto"];
      return ["java", ...flags, "-cp", into, "Receiver"];
    }
  }
}

const cache = fileURLToPath(new URL("../../node_modules/.cache/receivers/", import.meta.url));
const builds = new Map<string, Promise<string>>();

/** The folder with what is compiled once for each state of the source, also of other processes. */
function built(
  file: string,
  commandFor: (source: string, into: string) => readonly [string, ...string[]],
): Promise<string> {
  const running = builds.get(file) ?? build();
  builds.set(file, running);
  return running;

  async function build(): Promise<string> {
    const source = join(folder, file);
    const state = createHash("sha256").update(readFileSync(source)).digest("hex").slice(0, 16);
    const into = join(cache, `${file}-${state}`);
    if (existsSync(into)) return into;
    mkdirSync(cache, { recursive: true });
    const own = mkdtempSync(`${into}-`);
    try {
      const [command, ...given] = commandFor(source, own);
      await promisify(execFile)(command, given);
      renameSync(own, into);
    } catch (error) {
      // Another process may have been faster.
      if (!existsSync(into)) throw error;
    } finally {
      rmSync(own, { recursive: true, force: true });
    }
    return into;
  }
}

export type RunningReceiver = {
  url: string;
  effectsUrl: string;
  secret: string;
  stop(): Promise<void>;
};

const secret = "s3cret of the receiver";

/** With `secondMs`, its seconds are shorter or longer. */
export async function startReceiver(
  { language, bug, style }: ReceiverEntry,
  secondMs = 1000,
): Promise<RunningReceiver> {
  switch (language) {
    case "node": {
      const receiver = new NodeReceiver({ bug, style, secret, secondMs });
      return runningAt(await receiver.start(), () => receiver.stop());
    }
    case "python":
    case "java": {
      const host = hosts.get(language) ?? commandOf(language).then(startHost);
      hosts.set(language, host);
      const options = { ...(bug === null ? {} : { bug }), style, secret, secondMs };
      return runningAt(await (await host).start(options), async () => {});
    }
    default: {
      const named = { bug, style, secret, "second-ms": String(secondMs) };
      return startProgram(await commandOf(language), named);
    }
  }
}

export type ShopOptions = {
  port?: number;
  /** A file for its rows. */
  data?: string;
  /** How long the first message of a user takes, 100 if not given. */
  accountMs?: number;
};

/** With `port` and `data` it can be started again where it was. */
export async function startShop(
  { bug }: ShopEntry,
  { port = 0, data, accountMs = 100 }: ShopOptions = {},
): Promise<RunningReceiver> {
  const shop = new NodeShop({ bug, secret, port, data, accountMs });
  return runningAt(await shop.start(), () => shop.stop());
}

function runningAt(port: number | string, stop: () => Promise<void>): RunningReceiver {
  const url = `http://127.0.0.1:${port}`;
  return { url: `${url}/hooks`, effectsUrl: `${url}/effects`, secret, stop };
}

type Program = {
  /** Its next line; throws when there is none. */
  line(): Promise<string>;
  child: ChildProcessWithoutNullStreams;
  closed: Promise<unknown>;
};

function spawned([command, ...given]: Command): Program {
  const child = spawn(command, given, { stdio: ["pipe", "pipe", "pipe"] });
  const closed = once(child, "close");
  let errors = "";
  child.stderr.on("data", (bytes: Buffer) => (errors += bytes.toString()));
  child.stdin.on("error", () => {});
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    child,
    closed,
    async line() {
      const next = await lines.next();
      if (next.done !== true) return next.value;
      await closed;
      throw new Error(`${command} ${given.join(" ")} ended before it listened: ${errors}`);
    },
  };
}

type Host = { start(options: object): Promise<string> };

/** Programs with many receivers, which run as long as this process. */
const hosts = new Map<Language, Promise<Host>>();

/** One process for all receivers in a language. */
function startHost(command: Command): Host {
  const { child, line } = spawned(command);
  let last: Promise<unknown> = Promise.resolve();
  return {
    start(options) {
      child.stdin.write(`${JSON.stringify(options)}\n`);
      const port = last.then(line);
      last = port.catch(() => undefined);
      return port;
    },
  };
}

async function startProgram(
  [command, ...first]: Command,
  named: Record<string, string | null | undefined>,
): Promise<RunningReceiver> {
  const flags = Object.entries(named).flatMap(([name, value]) =>
    value === undefined || value === null ? [] : [`--${name}`, value],
  );
  const { child, closed, line } = spawned([command, ...first, ...flags]);
  return runningAt(await line(), async () => {
    child.stdin.end();
    await closed;
  });
}
