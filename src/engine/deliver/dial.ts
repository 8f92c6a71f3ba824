/** Opens the socket of a connection: address, TCP, TLS. Called by the connection, which hears of each stage from the socket's events. */

import { lookup } from "node:dns";
import { connect as connectTcp } from "node:net";
import type { LookupFunction, OnReadOpts, Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import type { Target } from "./target.ts";
import type { Trust } from "./trust.ts";

// Loopback accepts or refuses at once, so what takes longer is this process being busy, and giving up on an address for
// that would end in the other one's refusal. Half of the usual deadline.
const loopbackAttemptMs = 2_500;

const loopback = [
  { address: "127.0.0.1", family: 4 },
  { address: "::1", family: 6 },
];

type DialOptions = {
  target: Target;
  trust: Trust;
  onread: OnReadOpts;
  /** DNS has answered; not called when it was not asked. */
  onLookup(): void;
};

export function dial({ target, trust, onread, onLookup }: DialOptions): Socket {
  const options = {
    host: target.host,
    port: target.port,
    noDelay: true,
    onread,
    autoSelectFamily: true,
    lookup: lookupFor(target, onLookup),
    ...(target.loopback ? { autoSelectFamilyAttemptTimeout: loopbackAttemptMs } : {}),
  };
  if (!target.secure) return connectTcp(options);
  return connectTls({
    ...options,
    secureContext: trust.secureContext(),
    ALPNProtocols: ["http/1.1"],
    // Said aloud, because an environment variable can change the default.
    rejectUnauthorized: true,
    ...(target.literal ? {} : { servername: target.host }),
  });
}

function lookupFor(target: Target, onLookup: () => void): LookupFunction {
  return (host, options, answer) => {
    if (target.loopback) {
      answer(null, loopback);
      return;
    }
    lookup(host, { ...options, all: true }, (error, addresses) => {
      if (!error) onLookup();
      answer(error, addresses);
    });
  };
}
