import { min } from "@segment/snippet";

const { origin, writeKey, count } = globalThis.pointed;
const snippet = document.createElement("script");
// In batches, which the page of the npm package does not send.
const batches = { strategy: "batching", config: { size: 100, timeout: 100 } };
snippet.textContent = min({
  apiKey: writeKey,
  page: false,
  load: { integrations: { "Segment.io": { deliveryStrategy: batches } } },
}).replace("https://cdn.segment.com", origin);
document.head.append(snippet);
const { analytics } = globalThis;
for (let n = 1; n <= count; n += 1) {
  if (n % 6 === 0) analytics.identify(`u_${n}`, { n });
  else if (n % 6 === 1) analytics.track("Order Completed", { n });
  else if (n % 6 === 2) analytics.page("Docs", "Home", { n });
  else if (n % 6 === 3) analytics.screen("Docs", "Main", { n });
  else if (n % 6 === 4) analytics.group("acme", { n });
  else analytics.alias(`u_${n}`, "before");
}
