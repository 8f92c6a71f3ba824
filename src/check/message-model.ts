/**
 * The valid message that checks send: a track of a shop, or the one that the user says the receiver
 * expects. Each has a token, a messageId and a time of its own.
 */

import { cut, isObject, type Json, type JsonObject } from "../domain/json.ts";

const types = ["track", "identify", "page", "screen", "group"] as const;
type Type = (typeof types)[number];

/** Where the user's message has it, the token is written. */
const tokenPlace = "{{token}}";

/** As long as a token. */
const sampleToken = "t".repeat(19);

/** The check `big` adds text to the message until it has 32 KB. */
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
  /** The details have the token where the user wants it. */
  readonly hasPlaceInside: boolean;
  /** Or anywhere else, the ids of the message and its user aside. */
  readonly hasPlaceBesideIds: boolean;
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
    this.hasPlaceInside = hasPlace(details);
    this.hasPlaceBesideIds = hasPlace({ ...members, messageId: "", userId: "" });
  }

  /** As the object of a sentence. */
  get name(): string {
    const { event } = this.#others;
    if (this.type === "track" && typeof event === "string")
      return `a track with the event ${cut(event)}`;
    return `${this.type === "identify" ? "an" : "a"} ${this.type}`;
  }

  /** Of the user with this token. */
  userIdOf(token: string): string {
    const { userId } = this.#others;
    return typeof userId === "string" ? userId.replaceAll(tokenPlace, token) : token;
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
      [this.bag]: {
        ...this.#besides(inside),
        ...(this.#hasPlace ? {} : { token }),
        ...this.#details,
      },
      context: this.#others["context"] ?? {},
      ...members,
    };
    return JSON.stringify(message).replaceAll(tokenPlace, token);
  }

  /** What a check adds must not be lost under a name that the user's message has too. */
  #besides(inside: JsonObject): JsonObject {
    return Object.fromEntries(
      Object.entries(inside).map(([name, value]) => [
        Object.hasOwn(this.#details, name) ? `check_${name}` : name,
        value,
      ]),
    );
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
  if (message["raw"] !== undefined && Array.isArray(message["deliveries"]))
    return "This is Hookyard's record of a message: give the message itself, which is in its member raw.";
  if (message["type"] === undefined && message["event"] === undefined)
    return "The message has neither a type nor an event.";
  if (type === "track" && (typeof message["event"] !== "string" || message["event"] === ""))
    return "The message is a track, so it must have an event.";
  const model = new MessageModel(type, message, true);
  const details = message[model.bag];
  if (details !== undefined && !isObject(details))
    return `The ${model.bag} of the message must be an object.`;
  if (type === "group" && typeof message["groupId"] !== "string")
    return "The message is a group, so it must have a groupId.";
  const bytes = Buffer.byteLength(JSON.stringify(message).replaceAll(tokenPlace, sampleToken));
  return bytes <= maxBytes
    ? model
    : `The message has ${bytes.toLocaleString("en")} bytes; the limit is ${maxBytes.toLocaleString("en")}.`;
}
