/**
 * The valid message that checks send: a track of a shop, or the one that the user says the receiver
 * expects. Each has a token, a messageId and a time of its own.
 */

import { isObject, type Json, type JsonObject } from "../domain/json.ts";

const types = ["track", "identify", "page", "screen", "group"] as const;
type Type = (typeof types)[number];

/** Where the user's message has it, the token is written. */
const tokenPlace = "{{token}}";

/** The check `big` sends 32 KB with the message in it. */
const maxBytes = 16_384;

type More = {
  /** More properties, or traits. */
  inside?: JsonObject;
} & JsonObject;

export class MessageModel {
  readonly type: Type;
  /** Where its details are. */
  readonly bag: "properties" | "traits";
  readonly isOfUser: boolean;
  readonly #details: JsonObject;
  readonly #others: JsonObject;
  readonly #hasPlace: boolean;

  constructor(type: Type, message: JsonObject, isOfUser: boolean) {
    const { version: _, type: __, timestamp: ___, ...members } = message;
    this.type = type;
    this.bag = type === "identify" || type === "group" ? "traits" : "properties";
    this.isOfUser = isOfUser;
    const { [this.bag]: details = {}, ...others } = members;
    this.#details = details as JsonObject;
    this.#others = Object.fromEntries(
      Object.entries(others).filter(
        ([name, value]) => !/^(?:messageId|userId)$/.test(name) || hasPlace(value),
      ),
    );
    this.#hasPlace = hasPlace(members);
  }

  /** As the object of a sentence. */
  get name(): string {
    const { event } = this.#others;
    if (typeof event === "string") return `a track with the event ${event}`;
    return `${this.type === "identify" ? "an" : "a"} ${this.type}`;
  }

  /** The body of one with this token. */
  write(token: string, timestamp: string, { inside = {}, ...members }: More = {}): string {
    const message = {
      version: 1,
      type: this.type,
      messageId: `chk-${token}`,
      timestamp,
      userId: token,
      ...this.#others,
      [this.bag]: { ...inside, ...(this.#hasPlace ? {} : { token }), ...this.#details },
      context: this.#others["context"] ?? {},
      ...members,
    };
    return JSON.stringify(message).replaceAll(tokenPlace, token);
  }
}

const hasPlace = (value: Json): boolean => JSON.stringify(value).includes(tokenPlace);

export const orderCompleted = new MessageModel(
  "track",
  { event: "Order Completed", properties: { total: 49.9 } },
  false,
);

/** From what the user gave. The text is a sentence about what is wrong with it. */
export function messageModel(message: Json): MessageModel | string {
  if (!isObject(message)) return "The message must be a JSON object.";
  const type = types.find((each) => each === (message["type"] ?? "track"));
  if (type === undefined) return `The message must be of one of these types: ${types.join(", ")}.`;
  if (type === "track" && (typeof message["event"] !== "string" || message["event"] === ""))
    return "The message is a track, so it must have an event.";
  const model = new MessageModel(type, message, true);
  const details = message[model.bag];
  if (details !== undefined && !isObject(details))
    return `The ${model.bag} of the message must be an object.`;
  const bytes = Buffer.byteLength(JSON.stringify(message));
  return bytes <= maxBytes
    ? model
    : `The message has ${bytes.toLocaleString("en")} bytes; the limit is ${maxBytes.toLocaleString("en")}.`;
}
