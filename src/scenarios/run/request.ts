/** Takes a `request` step: sends it, and compares the answers with what the step wants. */

import { randomBytes } from "node:crypto";
import { createTrust } from "../../engine/deliver/dial.ts";
import { deliverRequest, wrongAnswer, type Sent } from "../../receiver/request.ts";
import { restart } from "../../receiver/restart.ts";
import { createWire, type Wire } from "../../receiver/wire.ts";
import type { CommandStep, RequestStep } from "../file/request-schema.ts";
import type { RequestSpec } from "../../receiver/request-spec.ts";

/** As long as the pipeline waits for a webhook. */
const timeoutMs = 5_000;

/** The requests of one run: its texts in place of the names in braces, and its kept connections. */
export class Requests {
  readonly #texts = new Map<string, string>();
  readonly #wires = new Map<string, Wire>();

  /** With this run's own texts in place of `{{token}}`. Throws a sentence for the user. */
  fill(text: string): string {
    return text.replace(/\{\{(token\d*|env\.HOOKYARD_\w+)\}\}/g, (_, name: string) =>
      this.#textOf(name),
    );
  }

  async take(
    { request: { url, answers, body = "", headers, ...rest } }: RequestStep,
    signal: AbortSignal | null,
  ): Promise<{ outcome: string; problem: string | null }> {
    const secret = process.env["HOOKYARD_SECRET"] ?? "";
    if (
      rest.signature !== undefined &&
      rest.signature !== "missing" &&
      rest.signature !== "empty" &&
      secret === ""
    )
      throw new Error(
        "The request is to be signed: set the environment variable HOOKYARD_SECRET to the receiver's shared secret.",
      );
    const spec: RequestSpec = {
      ...rest,
      body: this.fill(body),
      ...(rest.otherBody === undefined ? {} : { otherBody: this.fill(rest.otherBody) }),
      ...(headers === undefined
        ? {}
        : {
            headers: Object.fromEntries(
              Object.entries(headers).map(([name, value]) => [name, this.fill(value)]),
            ),
          }),
    };
    const wire = this.#wireTo(this.fill(url));
    const sent = await deliverRequest(wire, spec, secret, signal);
    const outcome = [...Map.groupBy(sent, answerOf)]
      .map(([answer, those]) => (those.length === 1 ? answer : `${those.length} × ${answer}`))
      .join(", ");
    const wrong = answers === undefined ? undefined : wrongAnswer(sent, answers);
    const problem =
      wrong === undefined
        ? null
        : `The receiver must answer ${answers}: it answered ${answerOf(wrong)}.`;
    return { outcome, problem };
  }

  /** Connections that it may have ended are not used again. */
  async runCommand({ command }: CommandStep): Promise<{ outcome: string }> {
    await restart(typeof command === "string" ? { run: command } : command);
    this.close();
    return { outcome: "ended with 0" };
  }

  close(): void {
    for (const wire of this.#wires.values()) wire.close();
    this.#wires.clear();
  }

  #wireTo(url: string): Wire {
    const wire = this.#wires.get(url) ?? createWire({ url, trust: createTrust(), timeoutMs });
    this.#wires.set(url, wire);
    return wire;
  }

  #textOf(name: string): string {
    if (name.startsWith("env.")) {
      const value = process.env[name.slice(4)];
      if (value === undefined)
        throw new Error(`The environment variable ${name.slice(4)} is not set.`);
      return value;
    }
    const text = this.#texts.get(name) ?? `tok${randomBytes(8).toString("hex")}`;
    this.#texts.set(name, text);
    return text;
  }
}

function answerOf({ status, error, outcome }: Sent): string {
  if (outcome === "hung_up") return "nothing, as the connection was ended";
  const words = [status, error?.code].filter((word) => word !== null && word !== undefined);
  return words.length === 0 ? "nothing" : words.join(", ");
}
