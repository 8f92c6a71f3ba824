/** Checks of requests that no sender of webhooks makes: a receiver refuses them, and goes on. */

import { isAccepted, isCrash } from "../receiver/request.ts";
import { briefOf, did, endMissing, fail, pass, warn, type Check } from "./outcome.ts";
import type { Probe, Recorded } from "./probe.ts";

type BadRequest = {
  id: string;
  title: string;
  what: string;
  send(probe: Probe): Promise<Recorded>;
  accepted: string;
};

const badRequests: BadRequest[] = [
  {
    id: "bad-json",
    title: "Refuses a body that is not JSON",
    what: "a signed body that is not JSON",
    send: (probe) => probe.deliver('{"version":1,"type":"track","event":"Order Comp'),
    accepted: "It said that it had accepted a body that it cannot read. Answer 400.",
  },
  {
    id: "empty-body",
    title: "Refuses an empty body",
    what: "an empty body",
    send: (probe) => probe.deliver(""),
    accepted: "It said that it had accepted a message, and there was none. Answer 400.",
  },
  {
    id: "get",
    title: "Refuses GET",
    what: "a GET",
    send: (probe) => probe.deliver("", { method: "GET" }),
    accepted:
      "Health checks and crawlers use GET; a receiver that answers 2xx to it hides a wrong configuration. Answer 405.",
  },
  {
    id: "wrong-content-type",
    title: "Refuses another content type",
    what: "a message sent as text/plain",
    send: (probe) =>
      probe.deliver(probe.message(probe.token()), { headers: { "Content-Type": "text/plain" } }),
    accepted: "It does no harm with a checked signature. A strict receiver answers 415.",
  },
];

export const badRequestChecks: Check[] = badRequests.map(({ id, title, what, send, accepted }) => ({
  id,
  title,
  group: "Bad requests",
  answers: "no crash",
  phase: "alone",
  async run(probe) {
    const sent = await send(probe);
    if (isCrash(sent))
      return fail(
        briefOf(sent),
        `The receiver ${did(sent)} to ${what}. ${(sent.status ?? 500) < 500 ? endMissing : "A server error says that the sender should try again, for four hours. Answer 400."}`,
      );
    return isAccepted(sent)
      ? warn(briefOf(sent), `The receiver ${did(sent)} to ${what}. ${accepted}`)
      : pass(briefOf(sent));
  },
}));
