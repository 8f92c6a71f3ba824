/**
 * The built desktop host in a process of its own, with the stand-in in place of Electron and its
 * window in a real Chromium.
 */

import { execFile, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { Browser } from "playwright-core";
import { root } from "../../../src/launch/build.ts";
import { openChromiumPage, type ChromiumPage } from "./electron-stand-in/page-in-chromium.ts";
import type { FromStandIn, Question, ToStandIn } from "./electron-stand-in/wire.ts";
import { freePorts } from "../../support/free-ports.ts";

const register = fileURLToPath(new URL("electron-stand-in/register.ts", import.meta.url));
export type DesktopProcess = ReturnType<typeof startDesktop>;

/** A message of the page or of the host, as `contract/port-messages.ts` has them. */
type OverPort = { from: "page" | "host"; [member: string]: unknown };

export async function buildDesktop(): Promise<void> {
  await promisify(execFile)(process.execPath, [join(root, "src", "launch", "build-desktop.ts")]);
}

/**
 * `flags` as they are given to the program. Without `--data`, the data is in a new directory.
 * Without a browser the window has no page, which is enough for what only the host does.
 */
export function startDesktop({
  browser,
  flags = freePorts,
  environment = {},
  cwd = root,
}: {
  browser?: Browser;
  flags?: readonly string[];
  environment?: Readonly<Record<string, string>>;
  cwd?: string;
}) {
  const appData = mkdtempSync(join(tmpdir(), "hookyard-desktop-"));
  const data = join(appData, "data");
  const child = fork(join(root, "out", "main", "index.js"), flags, {
    cwd,
    execPath: process.execPath,
    execArgv: ["--import", register],
    env: {
      ...process.env,
      STAND_IN_APP_DATA: appData,
      HOOKYARD_DATA: data,
      ...environment,
    },
    serialization: "advanced",
    stdio: ["ignore", "pipe", "pipe", "ipc"],
  });
  const calls: { name: string; values: unknown[] }[] = [];
  const overPorts: OverPort[] = [];
  const questions = new Map<number, (answer: unknown) => void>();
  const pages = new Map<number, Promise<ChromiumPage>>();
  const owners = new Map<number, number>();
  const firstPage = Promise.withResolvers<ChromiumPage>();
  const firstWindow = Promise.withResolvers<number>();
  let errors = "";
  let lastQuestion = 0;

  const send = (message: ToStandIn): void => {
    // The program may end between the look and the sending; what it would have heard is then of no
    // interest.
    if (child.connected) child.send(message, () => undefined);
  };
  const tell = (message: Extract<ToStandIn, { tell: string }>): void => {
    if (message.tell === "port")
      overPorts.push({ from: "page", ...(JSON.parse(message.data as string) as object) });
    send(message);
  };
  const ask = (question: Question): Promise<unknown> => {
    lastQuestion += 1;
    const id = lastQuestion;
    send({ id, question });
    return new Promise((resolve) => questions.set(id, resolve));
  };

  async function open({
    window,
    url,
    preload,
  }: Extract<FromStandIn, { say: "load" }>): Promise<void> {
    if (browser === undefined) {
      tell({ tell: "ready-to-show", window });
      return firstWindow.resolve(window);
    }
    const opening = openChromiumPage({ browser, window, url, preload, ask, tell });
    pages.set(window, opening);
    const page = await opening;
    await page.load();
    firstPage.resolve(page);
    firstWindow.resolve(window);
  }

  const refuse = (error: unknown): void => {
    firstPage.reject(error);
    firstWindow.reject(error);
  };

  function hear(message: FromStandIn): void {
    if ("id" in message) return questions.get(message.id)?.(message.answer);
    switch (message.say) {
      case "called":
        return void calls.push({ name: message.name, values: message.values });
      case "load":
        return void open(message).catch(refuse);
      case "post":
        for (const port of message.ports) owners.set(port, message.window);
        return onPage(message.window, (page) => page.post(message.channel, message.ports));
      case "port":
        overPorts.push({ from: "host", ...(JSON.parse(message.data as string) as object) });
        return onPage(owners.get(message.port), (page) =>
          page.portMessage(message.port, message.data),
        );
      case "port-closed":
        return onPage(owners.get(message.port), (page) => page.closePort(message.port));
      case "destroyed":
        return onPage(message.window, (page) => page.close());
    }
  }
  const onPage = (window: number | undefined, run: (page: ChromiumPage) => unknown): void => {
    void pages.get(window ?? 0)?.then(run);
  };

  child.on("message", hear);
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    errors += text;
  });
  child.stdout?.resume();
  // Its last calls may be read after it has ended.
  const heard = once(child, "disconnect");
  const ended = once(child, "close").then(async ([code, signal]) => {
    await heard;
    refuse(new Error(`the host ended with ${String(code ?? signal)}: ${errors}`));
    for (const page of pages.values()) await (await page).close();
    return { code: code as number | null, errors };
  });
  for (const { promise } of [firstPage, firstWindow])
    (promise as Promise<unknown>).catch(() => undefined);

  return {
    /** Where it is when no flag names another place. */
    data,
    /** The number of the first window, once it is loaded: then the host runs. */
    window: () => firstWindow.promise,
    /** The page of the first window, loaded. */
    page: () => firstPage.promise,
    /** What was called of Electron with what, by name. */
    called: (name: string): unknown[][] =>
      calls.filter((call) => call.name === name).map(({ values }) => values),
    /** Everything that went over message ports, in order. */
    overPorts: (): readonly OverPort[] => overPorts,
    /** How many ports the host has given away. */
    portsGiven: () => owners.size,
    ask,
    tell,
    ended,
    signal: (signal: "SIGTERM" | "SIGINT" | "SIGUSR2") => child.kill(signal),
    /** As when the terminal is closed in which it was started. */
    closeOutput(): void {
      child.stdout?.destroy();
      child.stderr?.destroy();
    },
    /** Whatever the test left running. */
    async stop(): Promise<void> {
      child.kill("SIGKILL");
      await ended;
      rmSync(appData, { recursive: true, force: true });
    },
  };
}
