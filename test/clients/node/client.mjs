/**
 * Every call of a client library for Node: client.mjs LIBRARY ENDPOINT KEY COUNT, in the folder
 * that has the library's node_modules.
 */

import { createRequire } from "node:module";

const require = createRequire(`${process.cwd()}/`);
const [library, endpoint, writeKey, given] = process.argv.slice(2);
const count = Number(given);

const run = {
  async "@segment/analytics-node"() {
    const { Analytics } = require("@segment/analytics-node");
    const client = new Analytics({ writeKey, host: endpoint, flushAt: 50 });
    await makeCalls(client, () => client.flush());
    await client.closeAndFlush();
  },
  async "analytics-node"() {
    const Analytics = require("analytics-node");
    const client = new Analytics(writeKey, { host: endpoint });
    await makeCalls(client, () => emptied(client));
    await emptied(client);
  },
  async "@rudderstack/rudder-sdk-node"() {
    const Analytics = require("@rudderstack/rudder-sdk-node");
    const client = new Analytics(writeKey, { dataPlaneUrl: endpoint });
    await makeCalls(client, () => emptied(client));
    await emptied(client);
  },
  async "@segment/analytics-react-native"() {
    const { makeCalls } = await import("./react-native.mjs");
    await makeCalls(
      {
        writeKey,
        useSegmentEndpoints: true,
        proxy: `${endpoint}/v1`,
        cdnProxy: `${endpoint}/v1`,
        allowInsecureProxy: true,
      },
      count,
    );
  },
}[library];
await run();

async function makeCalls(client, flush) {
  for (let n = 1; n <= count; n += 1) {
    const userId = `u_${n}`;
    if (n % 6 === 0) client.identify({ userId, traits: { n } });
    else if (n % 6 === 1) client.track({ userId, event: "Order Completed", properties: { n } });
    else if (n % 6 === 2) client.page({ userId, name: "Home", properties: { n } });
    else if (n % 6 === 3) client.screen({ userId, name: "Main", properties: { n } });
    else if (n % 6 === 4) client.group({ userId, groupId: "acme", traits: { n } });
    else client.alias({ userId, previousId: "before" });
    if (n === count / 2) await flush();
  }
}

/** A flush of these libraries sends one batch, and there is no close. */
async function emptied(client) {
  while (client.queue.length > 0) await client.flush();
}
