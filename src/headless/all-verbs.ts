/** The commands that talk to the running Hookyard, by their names. */

import * as commands from "./commands.ts";
import { runVerb } from "./verb-command.ts";
import { send } from "./send-verb.ts";
import * as verbs from "./verbs.ts";

/** Null when no command has this name. */
export async function runVerbNamed(name: string, args: readonly string[]): Promise<number | null> {
  switch (name) {
    case "apply":
      return runVerb(commands.apply, args, verbs.apply);
    case "send":
      return runVerb(commands.send, args, send);
    case "tail":
      return runVerb(commands.tail, args, verbs.tail);
    case "wait":
      return runVerb(commands.wait, args, verbs.wait);
    case "messages":
      return runVerb(commands.messages, args, verbs.messages);
    case "show":
      return runVerb(commands.show, args, verbs.show);
    case "clock":
      return runVerb(commands.clock, args, verbs.clock);
    case "retry":
      return runVerb(commands.retry, args, verbs.retry);
    case "reset":
      return runVerb(commands.reset, args, verbs.reset);
    case "open":
      return runVerb(commands.open, args, verbs.open);
    default:
      return null;
  }
}
