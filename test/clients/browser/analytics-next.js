import { AnalyticsBrowser } from "@segment/analytics-next";

const { host, origin, writeKey, count } = globalThis.pointed;
const analytics = AnalyticsBrowser.load(
  { writeKey, cdnURL: origin },
  { integrations: { "Segment.io": { apiHost: `${host}/v1`, protocol: "http" } } },
);
for (let n = 1; n <= count; n += 1) {
  if (n % 6 === 0) void analytics.identify(`u_${n}`, { n });
  else if (n % 6 === 1) void analytics.track("Order Completed", { n });
  else if (n % 6 === 2) void analytics.page("Docs", "Home", { n });
  else if (n % 6 === 3) void analytics.screen("Docs", "Main", { n });
  else if (n % 6 === 4) void analytics.group("acme", { n });
  else void analytics.alias(`u_${n}`, "before");
}
