/**
 * Every call of the control API: its name, its place in HTTP, and the changes that its answer
 * follows. That is all that a caller needs: the inspector and the commands load this and no
 * schemas, which take longer to make than a command takes to run.
 */

/** What the change feed distinguishes. */
export const changeAreas = [
  "messages",
  "deliveries",
  "sources",
  "destinations",
  "endpoints",
  "received",
  "clients",
  "retry-profiles",
  "settings",
  "unknown-keys",
  "refused",
  "clock",
  "jobs",
  "profiles",
  "audiences",
  "computed-traits",
  "deletions",
  "suppressions",
  "scenario-runs",
  "checks",
  "shares",
] as const;
export type ChangeArea = (typeof changeAreas)[number];

export type Method = "GET" | "POST" | "PATCH" | "DELETE";

type Areas = readonly ChangeArea[];

export type Place = {
  method: Method;
  /** With its parameters in braces: `/api/sources/{id}`. */
  path: string;
  /** Areas of the change feed: a change in one of them may change the answer. */
  reads: Areas;
};

/** Without areas it reads the one that the call is named after. */
const at = (method: Method) => (path: string, reads?: Areas) =>
  reads === undefined ? { method, path } : { method, path, reads };
const get = at("GET");
const post = at("POST");
const patch = at("PATCH");
const remove = at("DELETE");

/**
 * The members of an input that are not in the path are in the query of a GET, and in the body of
 * everything else.
 */
const places = {
  "stats.get": get("/api/stats", ["messages", "deliveries"]),
  "pipeline.settle": post("/api/settle"),
  "pipeline.reset": post("/api/reset"),
  "about.get": get("/api/about"),
  "about.health": get("/api/health", []),
  "workspaces.get": get("/api/workspaces", ["settings"]),
  "workspaces.open": post("/api/workspaces"),
  "workspaces.close": post("/api/workspaces/close"),

  "sources.list": get("/api/sources"),
  "sources.create": post("/api/sources"),
  "sources.get": get("/api/sources/{id}"),
  "sources.plan": get("/api/sources/{id}/plan"),
  "sources.update": patch("/api/sources/{id}"),
  "sources.send": post("/api/sources/{id}/send"),
  "sources.delete": remove("/api/sources/{id}"),
  "unknownKeys.list": get("/api/unknown-keys"),
  "unknownKeys.adopt": post("/api/unknown-keys/{writeKey}/adopt"),
  "unknownKeys.forget": remove("/api/unknown-keys/{writeKey}"),
  "refused.list": get("/api/refused", ["refused", "sources"]),
  "refused.clear": remove("/api/refused"),

  "catalog.list": get("/api/catalog"),
  "destinations.list": get("/api/destinations", ["destinations", "endpoints"]),
  "destinations.create": post("/api/destinations"),
  "destinations.get": get("/api/destinations/{id}", ["destinations", "endpoints"]),
  "destinations.update": patch("/api/destinations/{id}"),
  "destinations.delete": remove("/api/destinations/{id}"),
  "destinations.previewFilters": post("/api/destinations/{id}/filters/preview", [
    "messages",
    "destinations",
  ]),
  "destinations.test": post("/api/destinations/{id}/test"),
  "destinations.funnel": get("/api/destinations/{id}/funnel", [
    "messages",
    "deliveries",
    "destinations",
  ]),
  "destinations.sendAgain": post("/api/destinations/{id}/send-again"),
  "destinations.putFault": post("/api/destinations/{id}/webhooks/{webhookId}/fault"),
  "destinations.undoFault": remove("/api/destinations/{id}/webhooks/{webhookId}/fault"),
  "destinations.secret": get("/api/destinations/{id}/secret"),

  "conditions.check": post("/api/conditions/check"),

  "mappings.preview": post("/api/mappings/preview", [
    "messages",
    "sources",
    "destinations",
    "settings",
  ]),

  "shares.write": post("/api/shares"),
  "shares.progress": get("/api/shares", ["shares"]),
  "shares.cancel": remove("/api/shares"),
  "messages.list": get("/api/messages", ["messages", "deliveries"]),
  "messages.get": get("/api/messages/{id}", ["messages", "deliveries"]),
  "messages.values": get("/api/message-values", ["messages"]),
  "messages.retryAll": post("/api/messages/retry"),
  "messages.defaults": get("/api/messages/{id}/defaults"),
  "messages.replay": post("/api/messages/{id}/replay"),
  "messages.pin": post("/api/messages/{id}/pin"),

  "deliveries.list": get("/api/deliveries", ["deliveries", "messages"]),
  "deliveries.retryAll": post("/api/deliveries/retry"),
  "deliveries.get": get("/api/deliveries/{id}"),
  "deliveries.attempt": get("/api/deliveries/{id}/attempts/{attempt}"),
  "deliveries.signature": post("/api/deliveries/{id}/signature"),
  "deliveries.retry": post("/api/deliveries/{id}/retry"),
  "deliveries.cancel": post("/api/deliveries/{id}/cancel"),
  "jobs.list": get("/api/jobs"),
  "jobs.get": get("/api/jobs/{id}"),
  "jobs.cancel": remove("/api/jobs/{id}"),

  "clock.get": get("/api/clock", ["clock", "deliveries"]),
  "clock.set": post("/api/clock"),
  "clock.advance": post("/api/clock/advance"),
  "clock.cancelAdvance": remove("/api/clock/advance"),

  "endpoints.list": get("/api/endpoints", ["endpoints", "received"]),
  "endpoints.create": post("/api/endpoints"),
  "endpoints.get": get("/api/endpoints/{id}"),
  "endpoints.update": patch("/api/endpoints/{id}"),
  "endpoints.delete": remove("/api/endpoints/{id}"),
  "endpoints.rewind": post("/api/endpoints/{id}/rewind"),
  "endpoints.requests": get("/api/endpoints/{id}/requests", ["received"]),
  "endpoints.clearRequests": remove("/api/endpoints/{id}/requests"),
  "endpoints.presets": get("/api/endpoint-presets"),

  "clients.list": get("/api/clients", ["clients", "sources"]),
  "clients.create": post("/api/clients"),
  "clients.get": get("/api/clients/{id}", ["clients", "sources"]),
  "clients.update": patch("/api/clients/{id}"),
  "clients.delete": remove("/api/clients/{id}"),
  "clients.call": post("/api/clients/{id}/calls"),
  "clients.flush": post("/api/clients/{id}/flush"),
  "clients.close": post("/api/clients/{id}/close"),
  "clients.reopen": post("/api/clients/{id}/reopen"),
  "clients.generate": post("/api/clients/{id}/generate"),
  "clients.stopGenerating": remove("/api/clients/{id}/generate"),
  "clients.batches": get("/api/clients/{id}/batches"),
  "clients.log": get("/api/clients/{id}/log"),

  "settings.parity": get("/api/parity", ["settings", "sources", "destinations", "messages"]),
  "settings.get": get("/api/settings"),
  "settings.update": patch("/api/settings"),

  "retryProfiles.list": get("/api/retry-profiles"),
  "retryProfiles.create": post("/api/retry-profiles"),
  "retryProfiles.get": get("/api/retry-profiles/{id}"),
  "retryProfiles.update": patch("/api/retry-profiles/{id}"),
  "retryProfiles.delete": remove("/api/retry-profiles/{id}"),

  "flow.get": get("/api/flow", ["messages", "deliveries", "sources", "destinations"]),

  "configuration.export": get("/api/configuration"),
  "configuration.import": post("/api/configuration"),

  "profiles.list": get("/api/profiles", ["profiles", "audiences"]),
  "profiles.get": get("/api/profiles/{id}", [
    "profiles",
    "audiences",
    "computed-traits",
    "suppressions",
  ]),
  "profiles.seen": get("/api/profiles/seen"),

  "audiences.list": get("/api/audiences", ["audiences", "profiles"]),
  "audiences.create": post("/api/audiences"),
  "audiences.get": get("/api/audiences/{id}"),
  "audiences.update": patch("/api/audiences/{id}"),
  "audiences.delete": remove("/api/audiences/{id}"),
  "audiences.sync": post("/api/audiences/{id}/sync"),
  "audiences.cancelSync": remove("/api/audiences/{id}/sync"),
  "audiences.changes": get("/api/audiences/{id}/changes", [
    "audiences",
    "profiles",
    "clock",
    "suppressions",
  ]),
  "audiences.preview": post("/api/audiences/preview", [
    "audiences",
    "profiles",
    "clock",
    "suppressions",
  ]),
  "audiences.explain": post("/api/audiences/explain", ["profiles", "clock"]),
  "computedTraits.list": get("/api/computed-traits", ["computed-traits", "profiles"]),
  "computedTraits.create": post("/api/computed-traits"),
  "computedTraits.get": get("/api/computed-traits/{id}"),
  "computedTraits.update": patch("/api/computed-traits/{id}"),
  "computedTraits.delete": remove("/api/computed-traits/{id}"),
  "computedTraits.sync": post("/api/computed-traits/{id}/sync"),
  "computedTraits.cancelSync": remove("/api/computed-traits/{id}/sync"),
  "computedTraits.preview": post("/api/computed-traits/preview", [
    "computed-traits",
    "profiles",
    "clock",
    "suppressions",
  ]),

  "deletions.list": get("/api/deletions", ["deletions", "deliveries"]),
  "deletions.create": post("/api/deletions"),
  "deletions.get": get("/api/deletions/{id}", ["deletions", "deliveries"]),
  "deletions.delete": remove("/api/deletions/{id}"),
  "suppressions.list": get("/api/suppressions"),
  "suppressions.create": post("/api/suppressions"),
  "suppressions.lift": remove("/api/suppressions/{userId}"),

  "scenarios.list": get("/api/scenarios"),
  "scenarios.check": post("/api/scenarios/check"),
  "scenarios.run": post("/api/scenarios/run"),
  "scenarios.record": post("/api/scenarios/record"),
  "scenarios.whatIf": post("/api/scenarios/what-if"),
  "scenarioRuns.list": get("/api/scenario-runs"),
  "scenarioRuns.get": get("/api/scenario-runs/{id}"),
  "scenarioRuns.delete": remove("/api/scenario-runs/{id}"),

  "stories.list": get("/api/stories"),
  "stories.open": post("/api/stories"),
  "stories.get": get("/api/stories/{id}"),
  "stories.go": post("/api/stories/{id}/go"),
  "stories.close": remove("/api/stories/{id}"),

  "checks.start": post("/api/checks"),
  "checks.list": get("/api/checks"),
  "checks.get": get("/api/checks/{id}"),
  "checks.result": get("/api/checks/{id}/results/{check}"),
  "checks.report": get("/api/checks/{id}/report"),
  "checks.stop": post("/api/checks/{id}/stop"),
} as const;

export type CallName = keyof typeof places;

export function placeOf(name: CallName): Place {
  return { reads: areaNamedBy(name), ...places[name] };
}

/** `retryProfiles.list` reads `retry-profiles`. */
function areaNamedBy(name: string): Areas {
  const area = name.replace(/\..*/, "").replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  return changeAreas.filter((each) => each === area);
}

export type CallRequest = {
  method: Method;
  /** With the query. */
  path: string;
  body: Record<string, unknown> | undefined;
};

/**
 * URLs resolve `.` and `..` in a path, also when they are written `%2E`. So a text of them is
 * encoded twice, `%252E`, and one that is spelled like that already is encoded once more.
 */
const dots = /^(?:\.|%(?:25)*2E){1,2}$/i;
const encodedDots = /^(?:%(?:25)*2E){1,2}$/i;

function partOf(text: string): string {
  const part = encodeURIComponent(text);
  return dots.test(text) ? encodeURIComponent(part.replaceAll(".", "%2E")) : part;
}

/** The text that a part of a path stands for. Throws when the part is not encoded rightly. */
export function textOf(part: string): string {
  const text = decodeURIComponent(part);
  return encodedDots.test(text) ? decodeURIComponent(text) : text;
}

/** A call's input is one flat object; over HTTP its members have their places. */
export function requestOf(name: CallName, input: object): CallRequest {
  const { method, path } = places[name];
  const rest = new Map<string, unknown>(Object.entries(input));
  const place = path.replace(/\{(\w+)\}/g, (_, member: string) => {
    const value = rest.get(member);
    rest.delete(member);
    return partOf(String(value));
  });
  if (method !== "GET")
    return { method, path: place, body: rest.size === 0 ? undefined : Object.fromEntries(rest) };
  const query = new URLSearchParams();
  for (const [member, value] of rest)
    for (const each of Array.isArray(value) ? value : [value])
      if (each !== undefined) query.append(member, String(each));
  const search = query.size === 0 ? "" : `?${query.toString()}`;
  return { method, path: place + search, body: undefined };
}

/** The stream of changes is no call. */
export const changesPath = "/api/events";

/** Sends a call, or the stream of changes, to a pipeline beside the user's own: an open story's. */
export const besideHeader = "Hookyard-Pipeline";
