import type { MessageType } from "../../../domain/states.ts";

export type ComposedType = Exclude<MessageType, "delete">;

export const composedTypes = ["track", "identify", "page", "screen", "group", "alias"] as const satisfies readonly ComposedType[];

/** A call of each type that would be accepted, to begin with. */
export const templates: Readonly<Record<ComposedType, string>> = {
  track: `{
  "userId": "u_1042",
  "event": "Order Completed",
  "properties": { "total": 184.5, "currency": "EUR" }
}`,
  identify: `{
  "userId": "u_1042",
  "traits": { "email": "u_1042@example.com", "plan": "pro" }
}`,
  page: `{
  "userId": "u_1042",
  "name": "Shop",
  "properties": { "path": "/", "title": "Yard Coffee", "url": "https://shop.example.com/", "referrer": "" }
}`,
  screen: `{
  "anonymousId": "a_41c8e2d0",
  "name": "Cart",
  "context": { "device": { "model": "iPhone17,1", "type": "ios" }, "os": { "name": "iOS", "version": "26.1" } }
}`,
  group: `{
  "userId": "u_1042",
  "groupId": "acme",
  "traits": { "name": "Acme", "employees": 12 }
}`,
  alias: `{
  "previousId": "a_41c8e2d0",
  "userId": "u_1042"
}`,
};
