import segment from "@analytics/segment";
import { Analytics } from "analytics";

const { origin, writeKey, count } = globalThis.pointed;
const client = Analytics({
  app: "shop",
  plugins: [
    segment({
      writeKey,
      customScriptSrc: `${origin}/analytics.js/v1/${writeKey}/analytics.min.js`,
    }),
  ],
});
// The library's own calls wait for the plugin. `group` is the plugin's, and too early here.
const group = (n) => client.plugins.segment.group("acme", { n });
group(1);
for (let n = 2; n <= count; n += 1) {
  if (n % 4 === 0) void client.identify(`u_${n}`, { n });
  else if (n % 4 === 1) void client.track("Order Completed", { n });
  else if (n % 4 === 2) void client.page({ name: "Home", n });
}
void client.ready(() => {
  for (let n = 3; n <= count; n += 4) group(n);
});
