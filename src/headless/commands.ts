/**
 * Every command of `hookyard`, with its flags: nothing but what is said about them. The commands
 * themselves are loaded when they run.
 */

import { homedir } from "node:os";
import { join } from "node:path";
import { NoHome } from "../app-errors.ts";
import { messageStates } from "../domain/states.ts";
import { defineCommand, type Command } from "./flags.ts";

/** Where the data lives when `--data` does not say: the platform's place for it, or `NoHome`. */
export function defaultDataDirectory(
  platform: NodeJS.Platform = process.platform,
  environment: NodeJS.ProcessEnv = process.env,
  home: () => string = homedir,
): string {
  const inHome = (...names: string[]): string => {
    try {
      return join(home(), ...names);
    } catch {
      throw new NoHome();
    }
  };
  if (platform === "darwin") return inHome("Library", "Application Support", "Hookyard");
  if (platform === "win32")
    return join(environment["APPDATA"] || inHome("AppData", "Roaming"), "Hookyard");
  const base = environment["XDG_DATA_HOME"];
  // The XDG specification says to ignore a relative path.
  return join(base?.startsWith("/") ? base : inHome(".local", "share"), "hookyard");
}

/** What an exit code means, for every command. */
export const exitCodes: Readonly<Record<number, string>> = {
  0: "It is done, and what was checked is right.",
  1: "What was checked is not right, or Hookyard refused the request. Standard error says why.",
  2: "A flag or an argument is wrong, or there is nothing to work on, and nothing was done; or a file could not be written.",
  3: "No Hookyard runs with this data directory, or it does not answer.",
  4: "The time was up before it happened.",
};

const wrongFlag = "when a flag is wrong";
const ofVerb = {
  0: "when it is done",
  1: "when Hookyard refused it",
  2: wrongFlag,
  3: "when no Hookyard runs with this data directory",
};

/** In help texts; the page of all flags, which is the same on every machine, names no directory. */
export const usualData = `Default: ${usualDirectory()}`;

function usualDirectory(): string {
  try {
    return defaultDataDirectory();
  } catch {
    return "none on this machine";
  }
}

const data = {
  value: "DIR",
  text: `The data directory. ${usualData}.`,
  choices: "directories",
} as const;
const json = { text: "Print JSON instead of text." } as const;
const config = {
  value: "FILE",
  text: "Read this configuration instead of the hookyard.config.yaml, .json or .ts found upwards from here.",
  choices: "files",
} as const;
const ofMessages = {
  state: {
    value: "STATE",
    text: "Only messages in this state, or in one of several with commas between them.",
    choices: messageStates,
  },
  user: { value: "ID", text: "Only messages of this user." },
  event: { value: "NAME", text: "Only messages of this event." },
} as const;

export const serve = defineCommand({
  name: "serve",
  summary: "Runs the pipeline, the test endpoints and the inspector.",
  about: "Runs the pipeline, the test endpoints and the inspector on this machine.",
  flags: {
    data: { ...data, text: `The data directory; :memory: stores nothing. ${usualData}.` },
    "ingest-port": {
      value: "N",
      text: "Where client libraries send to; 0 picks a free port, here and below.",
      default: "4700",
    },
    "ingest-tls-port": { value: "N", text: "Ingest over TLS as well. Off by default." },
    "ui-port": { value: "N", text: "The inspector and the control API.", default: "4701" },
    "endpoints-port": { value: "N", text: "The test endpoints.", default: "4702" },
    "endpoints-tls-port": {
      value: "N",
      text: "The test endpoints over HTTPS.",
      default: "4703",
    },
    host: {
      value: "ADDRESS",
      text: "Listen on this address. Any but loopback lets other machines reach Hookyard.",
      default: "127.0.0.1",
    },
    config,
    traces: {
      value: "URL",
      text: "Send traces to this OpenTelemetry collector, such as http://127.0.0.1:4318.",
    },
    json: {
      text: "The first line on standard output is a JSON object with the addresses and the token.",
    },
    open: { text: "Open the inspector in the browser." },
    "until-input-ends": {
      text: "End when standard input closes, which happens when the program that started Hookyard ends.",
    },
  },
  exits: { 0: "after Ctrl+C", 1: "when it could not start", 2: wrongFlag },
});

export const mcp = defineCommand({
  name: "mcp",
  summary: "Gives an agent tools for Hookyard, on standard input and output.",
  about:
    "Speaks the Model Context Protocol on standard input and output, for an agent that starts it. It joins the Hookyard that runs with the data directory. When none runs, it starts one that ends with the agent, with a free port in place of each usual one that is taken.",
  flags: {
    data: {
      value: "DIR",
      text: `The data directory, or :memory: to store nothing. ${usualData}.`,
      choices: "directories",
    },
  },
  exits: {
    0: "when the agent has ended it",
    1: "when it could not start",
    2: wrongFlag,
    3: "when nothing answers at HOOKYARD_URL",
  },
});

export const apply = defineCommand({
  name: "apply",
  summary: "Applies a configuration file to the running Hookyard.",
  about:
    "Applies a configuration file to the running Hookyard: creates what is missing, updates what has the same write key, name or key, and keeps everything else.",
  flags: { config, data, json },
  exits: ofVerb,
});

export const send = defineCommand({
  name: "send",
  operands: "[TYPE]",
  choices: ["identify", "track", "page", "screen", "group", "alias"],
  summary: "Sends a message to ingest, from flags or from standard input.",
  about:
    "Sends an identify, track, page, screen, group or alias call. Without a type, standard input has the messages: one as JSON, a batch, or one on each line. The message goes to ingest as any client's does. Where there is no source yet, a first one is created with a destination and a test endpoint.",
  flags: {
    event: { value: "NAME", text: "The event of a track call." },
    user: { value: "ID", text: "The userId." },
    anonymous: { value: "ID", text: "The anonymousId." },
    name: { value: "NAME", text: "The name of a page or screen." },
    group: { value: "ID", text: "The groupId." },
    previous: { value: "ID", text: "The previousId of an alias call." },
    properties: { value: "JSON", text: "The properties of a track, page or screen call." },
    traits: { value: "JSON", text: "The traits of an identify or group call." },
    integrations: { value: "JSON", text: "The integrations object." },
    source: { value: "NAME", text: "The name, id or write key of the source. Default: the first." },
    data,
    json,
  },
  exits: { ...ofVerb, 1: "when ingest or Hookyard refused it" },
});

export const tail = defineCommand({
  name: "tail",
  operands: "[FILTER…]",
  summary: "Prints messages as they arrive and change their state.",
  about:
    "Prints each message that matches the filter when it arrives, and again when its state changes. The filter is that of the inspector: state:failed user:u_1 last:5m.",
  flags: {
    count: { value: "N", text: "End after this many lines." },
    data,
    json: { text: "Print one JSON object on each line." },
  },
  exits: { ...ofVerb, 0: "after Ctrl+C or the last line" },
});

export const wait = defineCommand({
  name: "wait",
  operands: "[FILTER…]",
  summary: "Waits until messages match a filter.",
  about: "Waits until messages match the flags and the filter, which is that of the inspector.",
  flags: {
    ...ofMessages,
    count: { value: "N", text: "The number of messages to wait for.", default: "1" },
    timeout: {
      value: "DURATION",
      text: "The longest wait, in real time: 500ms, 30s, 5m.",
      default: "30s",
      variable: "HOOKYARD_WAIT_TIMEOUT",
    },
    data,
    json,
  },
  exits: { ...ofVerb, 0: "when they match", 4: "when the time is up" },
});

export const messages = defineCommand({
  name: "messages",
  operands: "[FILTER…]",
  summary: "Lists messages, the newest first.",
  about: "Lists messages that match the flags and the filter, the newest first.",
  flags: {
    ...ofMessages,
    limit: { value: "N", text: "List at most this many, up to 200.", default: "20" },
    cursor: { value: "CURSOR", text: "Continue where the last list ended." },
    data,
    json,
  },
  exits: ofVerb,
});

export const show = defineCommand({
  name: "show",
  operands: "ID",
  summary: "Shows a message: its decisions, deliveries and attempts.",
  about: "Shows a message, by its id or its messageId: its decisions, deliveries and attempts.",
  flags: { data, json },
  exits: ofVerb,
});

export const clock = defineCommand({
  name: "clock",
  operands: "[pause|real|faster [SPEED]|advance DURATION|idle|next]",
  choices: ["pause", "real", "faster", "advance", "idle", "next"],
  summary: "Shows or moves the clock.",
  about:
    "Shows the clock, pauses it, runs it in real time or 10, 60 or 600 times faster, advances it by a duration such as 10m, until nothing is due (idle), or to the next due time.",
  flags: { data, json },
  exits: { ...ofVerb, 1: "when Hookyard refused it, or the clock did not get there" },
});

export const retry = defineCommand({
  name: "retry",
  operands: "[ID…]",
  summary: "Retries deliveries now.",
  about:
    "Retries deliveries now: those with these ids, those of the messages with these ids, or those of the newest 10,000 messages that match a filter.",
  flags: {
    filter: { value: "FILTER", text: "The deliveries of messages that match this filter." },
    "dry-run": { text: "Only count them." },
    data,
    json,
  },
  exits: ofVerb,
});

export const reset = defineCommand({
  name: "reset",
  summary: "Removes all messages.",
  about:
    "Removes all messages, with their deliveries and attempts, all profiles, deletion requests and suppressions. The configuration stays.",
  flags: {
    everything: {
      text: "Remove sources, destinations, test endpoints, retry profiles, simulated clients, audiences and computed traits as well. The settings stay.",
    },
    data,
    json,
  },
  exits: ofVerb,
});

export const open = defineCommand({
  name: "open",
  summary: "Opens the inspector of the running Hookyard in the browser.",
  flags: { data, json },
  exits: { ...ofVerb, 1: "when no browser could be opened" },
});

export const run = defineCommand({
  name: "run",
  operands: "FILE…",
  choices: "files",
  summary: "Runs scenario files.",
  about:
    "Runs each scenario in its own pipeline: in memory, on free ports, with a clock that only the scenario moves.",
  flags: {
    junit: { value: "FILE", text: "Write the results to FILE as JUnit XML.", choices: "files" },
    json: {
      text: "Print one JSON document instead of text. The same files and seed give the same bytes.",
    },
    seed: { value: "N", text: "Use this seed instead of the seeds in the files." },
    keep: {
      text: "Keep the first file's pipeline running afterwards, and print the inspector's address.",
    },
    watch: { text: "Run a file again when it changes, until Ctrl+C." },
    share: {
      value: "FILE",
      text: "When a scenario fails, write its messages into a share file or a page: NAME.hookyard or NAME.html.",
      choices: "files",
    },
  },
  exits: {
    0: "when every expectation is met",
    1: "when one is not or a file cannot be used",
    2: wrongFlag,
  },
});

export const check = defineCommand({
  name: "check",
  operands: "URL",
  summary:
    "Checks a receiver of yours: answers, signatures, duplicates, lost answers, connections.",
  about:
    "Sends real requests to a receiver of webhooks, and says what it does wrong: answers, signatures, duplicates, lost answers, connections. A check sends several hundred messages. Use it on a receiver that may keep or forget them.",
  flags: {
    secret: {
      value: "S",
      text: "The shared secret of the receiver, to sign with. HOOKYARD_SECRET in the environment does the same, and other users of this machine cannot read it there.",
    },
    header: {
      value: '"NAME: VALUE"',
      text: "Sent with every request; may be given several times.",
      several: true,
    },
    effects: {
      value: "URL",
      text: "Where the receiver lists what it has done, as text or JSON. Each message has a token of its own; a line or an element of an array that contains the token is one effect.",
    },
    "effects-command": { value: "CMD", text: "The same from the standard output of a command." },
    message: {
      value: "FILE",
      text: "A message that the receiver expects, as JSON: a track, identify, page, screen or group. Default: a track with the event Order Completed. {{token}} in it stands for the token.",
      choices: "files",
    },
    only: {
      value: "IDS",
      text: "Comma-separated ids of the checks to run. answers and in-time run first, unless --skip names them.",
    },
    skip: { value: "IDS", text: "All but these." },
    timeout: {
      value: "MS",
      text: "For a single request. Default: 5000.",
      variable: "HOOKYARD_CHECK_TIMEOUT",
    },
    seed: {
      value: "N",
      text: "The seed of the random choices. Default: a new one, which the report shows.",
    },
    json: {
      value: "FILE",
      text: "Write the report as JSON there; alone or with - to standard output.",
      bare: "-",
      variable: "HOOKYARD_CHECK_JSON",
      choices: "files",
    },
    junit: { value: "FILE", text: "The same as JUnit XML.", choices: "files" },
    html: { value: "FILE", text: "The same as a page that stands alone.", choices: "files" },
    scenarios: {
      value: "DIR",
      text: "Write a scenario there for each failed check: hookyard run shows the failure again.",
      choices: "directories",
    },
  },
  exits: {
    0: "when no check failed",
    1: "when one did",
    2: "when it could not run, or a report could not be written",
  },
});

export const explore = defineCommand({
  name: "explore",
  operands: "FILE",
  choices: "files",
  summary: "Searches for the order of events that breaks a receiver of yours.",
  about:
    "Searches for the order of events that breaks a receiver. The explore section of the file says what may vary (order, duplicates, copies at the same time, lost answers, delays, restarts) and what must always hold. Draws schedules, runs them, and makes the first one that fails as small as it can be. Writes it as a scenario, which hookyard run shows again. HOOKYARD_SECRET in the environment is the shared secret of the receiver, to sign with.",
  flags: {
    runs: { value: "N", text: "Run at most this many schedules.", default: "1000" },
    minutes: { value: "M", text: "Stop after this many minutes.", default: "2" },
    seed: { value: "N", text: "The seed of the random choices. Default: the file's, or 1." },
    out: {
      value: "DIR",
      text: "Where the scenario is written. Default: here.",
      choices: "directories",
    },
    json,
  },
  exits: {
    0: "when every schedule held",
    1: "when one did not, or the receiver ended and did not come back",
    2: "when it could not run, or the scenario could not be written",
  },
});

export const doctor = defineCommand({
  name: "doctor",
  summary: "Checks a data directory, even while Hookyard uses it. Changes nothing.",
  about:
    "Checks a data directory: SQLite's integrity check, counts against rows, the log, the marker, the permissions. Works whether or not Hookyard uses it, and changes nothing.",
  flags: { data, json },
  exits: {
    0: "when nothing is wrong",
    1: "when something is",
    2: "when a flag is wrong or there is nothing to check",
  },
});

export const backup = defineCommand({
  name: "backup",
  operands: "FILE",
  choices: "files",
  summary: "Copies the data into one file, even while Hookyard uses it.",
  about:
    "Copies the data into one file that only its owner can read, even while Hookyard runs, and checks the copy. To restore it, put it into a new directory as hookyard.db, and start Hookyard with --data set to that directory.",
  flags: { data, force: { text: "Replace FILE if it exists." }, json },
  exits: { 0: "when the backup is written", 1: "when it is not", 2: wrongFlag },
});

export const share = defineCommand({
  name: "share",
  operands: "FILE",
  choices: "files",
  summary: "Writes messages with everything about them into a file or a page for somebody else.",
  about:
    "Writes the newest 10,000 messages, or as many as fit in 100 million characters, with their attempts and bytes, the configuration and the clock into one file, even while Hookyard runs. NAME.hookyard opens in Hookyard: hookyard NAME.hookyard. NAME.html is a page that needs nothing else. Shared secrets, write keys, and credentials in headers and URLs are left out. With HOOKYARD_URL, it writes the data of the Hookyard at that address, unless --data is given.",
  flags: {
    data,
    filter: {
      value: "TEXT",
      text: "Only the messages that match, as in the inspector's filter.",
      default: "",
    },
    redact: {
      value: "PATH",
      text: "Leave out this member of every message: context.ip, properties.email. May be given several times.",
      several: true,
    },
    secrets: { text: "Keep the secrets." },
    force: { text: "Replace FILE if it exists." },
    json,
  },
  exits: {
    ...{ 0: "when the file is written", 1: "when it is not", 2: wrongFlag },
    3: "when nothing answers at HOOKYARD_URL",
  },
});

/** Not in the list: its name is that of the file. */
export const openShare = defineCommand({
  name: "NAME.hookyard",
  summary: "Opens a share file in the browser.",
  about:
    "Opens a share file in the browser. It is a record: nothing is sent, and your own data stays as it is.",
  flags: {
    "ui-port": { value: "N", text: "The port of the inspector. A free one.", default: "0" },
    "no-open": { text: "Print the address only." },
  },
  exits: { 0: "when it is closed", 1: "when the file cannot be opened", 2: wrongFlag },
});

export const completion = defineCommand({
  name: "completion",
  operands: "SHELL",
  choices: ["bash", "zsh", "fish"],
  summary: "Prints the completion of commands and flags for bash, zsh or fish.",
  about:
    "Prints a script for the shell. For bash: source <(hookyard completion bash). For zsh: source <(hookyard completion zsh), after compinit. For fish: hookyard completion fish | source.",
  flags: {},
  exits: { 0: "when it is printed", 2: wrongFlag },
});

/** In the order of the help. */
export const commands: readonly Command[] = [
  serve,
  apply,
  ...[send, tail, wait, messages, show, clock, retry, reset, open],
  ...[run, check, explore],
  ...[share, doctor, backup, mcp, completion],
];
