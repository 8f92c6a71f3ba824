/**
 * The part of React Native's library that runs in Node: its events, the address that it computes
 * and its upload. The platform below it is replaced, and its queue by a list.
 */

import { randomUUID } from "node:crypto";
import { createRequire, registerHooks } from "node:module";

const require = createRequire(`${process.cwd()}/`);
registerHooks({
  resolve: (name, context, next) =>
    ["react-native", "@segment/sovran-react-native"].includes(name)
      ? { url: "platform:none", format: "commonjs", shortCircuit: true }
      : next(name, context),
  load: (url, context, next) =>
    url === "platform:none"
      ? {
          format: "commonjs",
          source: "module.exports = { NativeModules: {}, Platform: {}, createStore: () => ({}) }",
          shortCircuit: true,
        }
      : next(url, context),
});

const folder = "@segment/analytics-react-native/lib/commonjs";
const { SegmentDestination } = require(`${folder}/plugins/SegmentDestination`);
const events = require(`${folder}/events`);

function destinationOf(options) {
  const destination = new SegmentDestination();
  destination.analytics = {
    getConfig: () => options,
    reportInternalError: () => {},
    logger: { info() {}, warn() {}, error() {} },
  };
  return destination;
}

/** The address that the library sends to with these options. */
export function endpointOf(options) {
  return destinationOf(options).getEndpoint();
}

/** Sends that many messages as often as the library keeps some of them for another flush. */
export async function makeCalls(options, count) {
  const destination = destinationOf(options);
  destination.settingsResolve();
  let kept = [];
  destination.queuePlugin.dequeueByMessageIds = async (ids) => {
    kept = kept.filter(({ messageId }) => !ids.includes(messageId));
  };
  for (let n = 1; n <= count; n += 1) {
    kept.push({
      ...eventOf(n),
      anonymousId: "before",
      messageId: randomUUID(),
      timestamp: new Date().toISOString(),
    });
    if (n !== count / 2 && n !== count) continue;
    while (kept.length > 0) await destination.sendEvents(kept);
  }
}

/** It has no page call. */
function eventOf(n) {
  const userId = `u_${n}`;
  if (n % 5 === 0) return events.createIdentifyEvent({ userId, userTraits: { n } });
  if (n % 5 === 1)
    return { ...events.createTrackEvent({ event: "Order Completed", properties: { n } }), userId };
  if (n % 5 === 2)
    return { ...events.createScreenEvent({ name: "Main", properties: { n } }), userId };
  if (n % 5 === 3)
    return { ...events.createGroupEvent({ groupId: "acme", groupTraits: { n } }), userId };
  return events.createAliasEvent({ anonymousId: "before", newUserId: userId });
}
