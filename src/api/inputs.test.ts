import { expect, test as base } from "vitest";
import { starting } from "../../test/support/running-app.ts";
import { calls, type CallName } from "../contract/contract.ts";

const test = base.extend("start", starting);

const prefixes: Record<string, string> = {
  sources: "src",
  destinations: "dst",
  messages: "msg",
  deliveries: "dlv",
  jobs: "job",
  endpoints: "ept",
  retryProfiles: "rtp",
  profiles: "prf",
  audiences: "aud",
  computedTraits: "trt",
  deletions: "del",
  clients: "clt",
};

/** What a call needs beside the id. */
const members: Partial<Record<CallName, object>> = {
  "sources.send": { type: "track", body: "{}" },
  "messages.pin": { pinned: true },
  "clients.call": { type: "track", call: {} },
  "clients.generate": { count: 1, perSecond: 1 },
};

const ofOneThing = (Object.keys(calls) as CallName[]).filter((name) => calls[name].path.includes("{id}"));

test("every call answers that what has no such id is not there, whether an id can be spelled so or not", async ({ start }) => {
  const app = await start.app();
  for (const name of ofOneThing) {
    const ids = ["nope", `${prefixes[name.split(".")[0] ?? ""]}_00000zzzz`];
    for (const id of ids) {
      const { status, body } = await app.answer(name, { ...members[name], id });
      expect([status, body], name).toMatchObject([404, { code: "not_found", message: expect.stringContaining(` ${id}.`) }]);
    }
  }
});
