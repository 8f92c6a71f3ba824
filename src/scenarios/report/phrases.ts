/** What a step or an expectation says, in one line, close to how the file says it. */

import { isObject, type Json, type JsonObject } from "../../domain/json.ts";
import type { Subject } from "../file/expectation-schema.ts";
import { inOneLine } from "../file/in-one-line.ts";
import type { Verb } from "../file/scenario-schema.ts";

const longest = 200;

/** `deliveries of destination Warehouse: count 20, state delivered, within 2h` */
export function claimPhrase(subject: Subject, claim: Json | undefined): string {
  const { of, within, never, ...claims } = isObject(claim) ? claim : {};
  const chosen = isObject(of) && Object.keys(of).length > 0 ? ` of ${members(of, " or ")}` : "";
  const parts = [
    ...(Object.keys(claims).length > 0 ? [members(claims)] : []),
    ...(never === undefined ? [] : ["never"]),
    ...(within === undefined ? [] : [`within ${plain(within)}`]),
  ];
  return cut(`${subject}${chosen}${parts.length > 0 ? `: ${parts.join(", ")}` : ""}`);
}

/** Of a step as the file has it. */
export function stepPhrase(verb: Verb, step: JsonObject): string {
  const said = step[verb] ?? null;
  switch (verb) {
    case "send":
      return cut(sendPhrase(said, step));
    case "change":
      return cut(
        `change ${isObject(said) ? Object.entries(said).map(changePhrase).join("; ") : ""}`,
      );
    case "create":
      return cut(
        `create ${
          isObject(said)
            ? Object.values(said)
                .flatMap((things) => (isObject(things) ? Object.keys(things) : []))
                .join(", ")
            : ""
        }`,
      );
    case "delete":
    case "lift":
      return cut(isObject(said) ? `${verb} ${members(said)}` : `${verb} ${plain(said, ", ")}`);
    case "retry":
    case "cancel":
      return cut(
        `${verb} deliveries of ${members(said, " or ")}${step["ifPossible"] === true ? ", if possible" : ""}`,
      );
    case "request":
      return cut(requestPhrase(said));
    case "expect":
      return "expect";
    default:
      return cut(`${verb} ${plain(said)}`);
  }
}

function requestPhrase(said: Json): string {
  const {
    url,
    method = "POST",
    body: _body,
    headers: _headers,
    answers: _answers,
    ...how
  } = isObject(said) ? said : {};
  const manner = Object.keys(how).length === 0 ? "" : `, ${members(how)}`;
  return `request ${plain(method)} ${plain(url ?? "")}${manner}`;
}

function changePhrase([kind, things]: [string, Json]): string {
  if (kind === "settings") return members(things);
  return isObject(things)
    ? Object.entries(things)
        .map(([name, thing]) => `${name}: ${isObject(thing) ? members(thing) : plain(thing)}`)
        .join("; ")
    : "";
}

function sendPhrase(said: Json, { users, repeat, every, batch, resend }: JsonObject): string {
  const [first, ...others] = Array.isArray(said) ? said : [said];
  const message = isObject(first) ? first : {};
  const what = [message["type"], message["event"] ?? message["name"] ?? message["groupId"]]
    .filter((part) => typeof part === "string")
    .join(" ");
  const parts = [
    others.length === 0 ? what : `${what} and ${others.length} more in a batch`,
    ...(Array.isArray(users)
      ? [`as ${users.length === 1 ? plain(users[0] ?? "") : `${users.length} users`}`]
      : []),
    ...(repeat === undefined ? [] : [`${plain(repeat)} times`]),
    ...(every === undefined ? [] : [`every ${plain(every)}`]),
    ...(batch === undefined ? [] : [`in batches of ${plain(batch)}`]),
    ...(resend === undefined
      ? []
      : [`each request again ${resend === 1 ? "once" : `${plain(resend)} times`}`]),
  ];
  return `send ${parts.join(", ")}`;
}

function members(value: Json, between?: string): string {
  if (!isObject(value)) return plain(value, between);
  return Object.entries(value)
    .map(([name, member]) => `${name} ${plain(member, between)}`)
    .join(", ");
}

/** A list that means any of its items has an `or` between them. */
function plain(value: Json, between?: string): string {
  if (Array.isArray(value))
    return between === undefined
      ? `[${value.map((item) => plain(item)).join(", ")}]`
      : value.map((item) => plain(item)).join(between);
  if (isObject(value)) return `{ ${members(value)} }`;
  return inOneLine(String(value));
}

function cut(text: string): string {
  return text.length > longest ? `${text.slice(0, longest)}…` : text;
}
