/** The headers that every webhook of a destination gets; the static ones of each webhook come behind them. */

import type { Destination } from "../../domain/configuration.ts";
import { sign, signatureKey, type SignatureKey } from "../../domain/signature.ts";

export function createDeliveryHeaders({ vendor }: { vendor: () => string }) {
  // A key is derived once for each secret, and not for each delivery.
  const keys = new Map<string, SignatureKey>();

  function keyOf(secret: string): SignatureKey {
    let key = keys.get(secret);
    if (key === undefined) {
      key = signatureKey(secret);
      keys.set(secret, key);
    }
    return key;
  }

  return ({ sharedSecret }: Destination, body: Uint8Array): [string, string][] => {
    const headers: [string, string][] = [
      ["User-Agent", `${vendor()}/1.0`],
      ["Content-Type", "application/json"],
    ];
    if (sharedSecret !== null) headers.push(["X-Signature", sign(keyOf(sharedSecret), body)]);
    return headers;
  };
}
