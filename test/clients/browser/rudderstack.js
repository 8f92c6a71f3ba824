// The bundled build: the other one loads its parts from RudderStack's servers.
import { RudderAnalytics } from "@rudderstack/analytics-js/bundled";

const { origin, writeKey, count } = globalThis.pointed;
const analytics = new RudderAnalytics();
// Its queue has 100 places if it is given no more, and a new call then takes the place of the oldest.
analytics.load(writeKey, origin, {
  configUrl: origin,
  queueOptions: { maxItems: count, batch: { enabled: true, maxItems: 100, flushInterval: 1000 } },
});
for (let n = 1; n <= count; n += 1) {
  if (n % 5 === 0) analytics.identify(`u_${n}`, { n });
  else if (n % 5 === 1) analytics.track("Order Completed", { n });
  else if (n % 5 === 2) analytics.page("Docs", "Home", { n });
  else if (n % 5 === 3) analytics.group("acme", { n });
  else analytics.alias(`u_${n}`, "before");
}
