import type { MessagesClaim } from "../file/expectation-schema.ts";
import type { SeenMessage } from "../run/history.ts";
import { choosesMessage, isOneOf, messageLabel } from "./choice.ts";
import { wrong, type Kind } from "./kind.ts";

export const messages: Kind<MessagesClaim, SeenMessage> = {
  nouns: ["message", "messages"],
  total: (history) => history.messages.length,
  chosen: (history, { of }) => history.messages.filter((message) => choosesMessage(of, message) && isOneOf(of?.state, message.state)),
  wrongWith(message, { state, reason, decisions = {} }) {
    return [
      ...(state === undefined || state === message.state ? [] : wrong("state", state, message.state)),
      ...(reason === undefined || reason === message.details.reason ? [] : wrong("reason", reason, message.details.reason ?? "none")),
      ...Object.entries(decisions).flatMap(([destination, expected]) => {
        const actual = message.decisions.get(destination) ?? "no decision";
        return actual === expected ? [] : wrong(`decision for ${destination}`, expected, actual);
      }),
    ];
  },
  countOf: () => 1,
  label: messageLabel,
  behind: (message, { deliveries }) =>
    deliveries.filter((delivery) => delivery.message.ordinal === message.ordinal).flatMap(({ attempts }) => attempts),
  idOf: ({ ordinal }) => String(ordinal),
  versionOf: ({ version }) => version,
};
