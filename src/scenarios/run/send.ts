/**
 * Sends what a step says, request by request, and holds the answers of the ingest port against what
 * the step expects of them.
 */

import type { Message, PostStep, SendStep } from "../file/scenario-schema.ts";
import { CallRefused } from "./pipeline.ts";
import type { Session } from "./session.ts";

type Call = NonNullable<PostStep["call"]>;
type Request = { call: Call; body: string; messages: number };
type Answer = number | "cut";

/** In words what was sent, or what was wrong with the answers. */
type Sent = { outcome: string; problem: string | null };

export async function sendMessages(session: Session, step: SendStep): Promise<Sent> {
  const rounds = step.repeat ?? 1;
  const sender = new Sender(session, step, step.rejected ?? 0);
  if (step.every === undefined) {
    const all = Array.from({ length: rounds }, () => messagesOf(session, step)).flat();
    await session.act(() => sender.send(requestsOf(step, all)));
    return sender.sent();
  }
  for (let round = 1; round <= rounds; round += 1) {
    await session.act(() => sender.send(requestsOf(step, messagesOf(session, step))));
    if (round < rounds) await session.advance(step.every);
  }
  return sender.sent();
}

export async function sendBody(session: Session, step: PostStep): Promise<Sent> {
  const sender = new Sender(session, step, null);
  session.addBody(step.post);
  await session.act(() =>
    sender.send([{ call: step.call ?? "batch", body: step.post, messages: 0 }]),
  );
  return sender.sent();
}

/** Once for each user, each with an id, as a client library would send them. */
function messagesOf(session: Session, { send, users }: SendStep): Message[] {
  const messages = [send].flat();
  const asUsers: Message[] =
    users === undefined
      ? messages
      : users.flatMap((userId) => messages.map((message) => ({ ...message, userId })));
  return asUsers.map((message) => ({
    ...message,
    messageId: session.messageId(message["messageId"]),
  }));
}

function requestsOf({ send, batch }: SendStep, messages: Message[]): Request[] {
  if (batch === undefined && !Array.isArray(send)) {
    return messages.map(({ type, ...members }) => ({
      call: type,
      body: JSON.stringify(members),
      messages: 1,
    }));
  }
  const size = batch ?? messages.length;
  const requests: Request[] = [];
  for (let at = 0; at < messages.length; at += size) {
    const part = messages.slice(at, at + size);
    requests.push({ call: "batch", body: JSON.stringify({ batch: part }), messages: part.length });
  }
  return requests;
}

class Sender {
  readonly #session: Session;
  readonly #step: SendStep | PostStep;
  readonly #source: string;
  /** How many messages of batches ingest is to reject; null when nobody counts. */
  readonly #rejectedWanted: number | null;
  readonly #answers: Answer[] = [];
  readonly #problems: string[] = [];
  readonly #rejections: string[] = [];
  #messages = 0;
  #requests = 0;

  constructor(session: Session, step: SendStep | PostStep, rejectedWanted: number | null) {
    this.#session = session;
    this.#step = step;
    this.#source = step.from ?? session.sourceNames()[0] ?? "";
    this.#rejectedWanted = rejectedWanted;
  }

  async send(requests: readonly Request[]): Promise<void> {
    for (const request of requests) {
      this.#messages += request.messages;
      for (let again = 0; again <= (this.#step.resend ?? 0); again += 1)
        await this.#sendOnce(request, again);
    }
  }

  async #sendOnce({ call, body }: Request, again: number): Promise<void> {
    this.#requests += 1;
    const { answer, text } = await this.#post(call, body);
    this.#answers.push(answer);
    const wanted = this.#wanted(again);
    if (answer !== wanted) {
      const said = text === "" ? "" : `: ${messageIn(text)}`;
      this.#problems.push(
        `Request ${this.#requests} was ${answered(answer)}${said} Expected was ${wanted === "cut" ? "a cut connection" : wanted}.`,
      );
    } else if (call === "batch" && again === 0) this.#rejections.push(...rejectionsIn(text));
  }

  #wanted(again: number): Answer {
    const { answers = 200 } = this.#step;
    return Array.isArray(answers) ? (answers[again] ?? 200) : answers;
  }

  async #post(call: Call, body: string): Promise<{ answer: Answer; text: string }> {
    try {
      const { status, body: text } = await this.#session.pipeline.call("sources.send", {
        id: this.#session.sourceId(this.#source),
        type: call,
        body,
      });
      return { answer: status, text };
    } catch (error) {
      if (error instanceof CallRefused && error.problem.code === "no_answer")
        return { answer: "cut", text: "" };
      throw error;
    }
  }

  sent(): Sent {
    const wanted = this.#rejectedWanted;
    const rejected = this.#rejections.length;
    if (wanted !== null && rejected !== wanted && this.#problems.length === 0) {
      const first = this.#rejections[0] === undefined ? "" : ` The first: ${this.#rejections[0]}`;
      this.#problems.push(`Ingest rejected ${rejected} messages; expected were ${wanted}.${first}`);
    }
    const count = this.#messages === 1 ? "1 message" : `${this.#messages} messages`;
    const what = this.#messages === 0 ? "" : `${count} in `;
    const requests = this.#requests === 1 ? "1 request" : `${this.#requests} requests`;
    return {
      outcome: `${what}${requests} from ${this.#source}, answered ${[...new Set(this.#answers)].join(", ")}`,
      problem: this.#problems.length === 0 ? null : this.#problems.slice(0, 3).join(" "),
    };
  }
}

function answered(answer: Answer): string {
  return answer === "cut" ? "cut" : `answered ${answer}`;
}

function messageIn(text: string): string {
  const message = (parse(text) as { message?: unknown } | null)?.message;
  return typeof message === "string" ? message : text.slice(0, 200);
}

/** The reasons of a batch's rejected messages. */
function rejectionsIn(text: string): string[] {
  const rejected = (parse(text) as { rejected?: unknown } | null)?.rejected;
  return Array.isArray(rejected)
    ? rejected.map((one: { message?: unknown }) => String(one.message))
    : [];
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return null;
  }
}
