/**
 * What a schema cannot see: that names refer to something, that members fit each other, that every
 * run is the same.
 */

import { checkHeader, checkWebhookUrl, maxHeaders } from "../../domain/webhook-rules.ts";
import type { FileChange } from "./change-schema.ts";
import type { Expectation } from "./expectation-schema.ts";
import { parseJsonPath, pathWords } from "./json-path.ts";
import { inOneLine } from "./in-one-line.ts";
import { unknownName } from "./members.ts";
import { problemsOfCaption } from "../story/captions.ts";
import { openable, splitOpen, storyNames, wrongToOpen, type StoryNames } from "../story/scenes.ts";
import type { PostStep, Scenario, ScenarioStep, SendStep } from "./scenario-schema.ts";
import {
  isUrl,
  stepsOf,
  type FileDestination,
  type FileEndpoint,
  type FileWebhook,
} from "./setup-schema.ts";
import type { FileProblem, Path, PlacedValue } from "./yaml-places.ts";

export function findWrongReferences(scenario: Scenario, file: PlacedValue): FileProblem[] {
  const check = new Check(scenario, file);
  check.setup();
  for (const [index, step] of scenario.steps.entries()) check.step(step, ["steps", index]);
  return check.problems;
}

type Kind = "source" | "endpoint" | "destination" | "audience" | "computed trait";

class Check {
  readonly problems: FileProblem[] = [];
  readonly #file: PlacedValue;
  readonly #scenario: Scenario;
  readonly #names: Record<Kind, string[]>;
  readonly #storyNames: StoryNames;
  /** Of the webhooks of each destination, as far as the steps have changed them. */
  readonly #endpointsOf = new Map<string, string[]>();
  #laneConnections: number;

  constructor(scenario: Scenario, file: PlacedValue) {
    this.#scenario = scenario;
    this.#file = file;
    this.#laneConnections = scenario.settings?.laneConnections ?? 1;
    this.#storyNames = storyNames(scenario);
    this.#names = {
      source: Object.keys(sourcesOf(scenario)),
      endpoint: Object.keys(scenario.endpoints ?? {}),
      destination: Object.keys(scenario.destinations ?? {}),
      audience: Object.keys({ ...scenario.audiences, ...created(scenario, "audiences") }),
      "computed trait": Object.keys({
        ...scenario.computedTraits,
        ...created(scenario, "computedTraits"),
      }),
    };
  }

  setup(): void {
    const above: string[] = [];
    for (const [name, endpoint] of Object.entries(this.#scenario.endpoints ?? {})) {
      this.#forwards(endpoint, above, ["endpoints", name]);
      above.push(name);
    }
    for (const [name, destination] of Object.entries(this.#scenario.destinations ?? {}))
      this.#destination(name, destination, ["destinations", name]);
    this.#computed(this.#scenario, []);
  }

  step(step: ScenarioStep, path: Path): void {
    this.#story(step, path);
    if ("send" in step || "post" in step) this.#sending(step, path);
    if ("send" in step) this.#repetition(step, path);
    if ("create" in step) this.#computed(step.create, [...path, "create"]);
    if ("sync" in step)
      this.#oneOfKinds(["audience", "computed trait"], step.sync, [...path, "sync"]);
    if ("change" in step) {
      const {
        settings,
        sources = {},
        endpoints = {},
        destinations = {},
        audiences = {},
      } = step.change;
      this.#laneConnections = settings?.laneConnections ?? this.#laneConnections;
      for (const name of Object.keys(audiences))
        this.#named("audience", name, [...path, "change", "audiences", name], "name");
      this.#computed({ audiences }, [...path, "change"]);
      for (const name of Object.keys(sources))
        this.#named("source", name, [...path, "change", "sources", name], "name");
      for (const [name, endpoint] of Object.entries(endpoints)) {
        const place = [...path, "change", "endpoints", name];
        if (this.#named("endpoint", name, place, "name"))
          this.#forwards(
            endpoint,
            this.#names.endpoint.filter((other) => other !== name),
            place,
          );
      }
      for (const [name, { webhooks }] of Object.entries(destinations))
        if (webhooks !== undefined) this.#endpointsOf.delete(name);
      for (const [name, destination] of Object.entries(destinations)) {
        const place = [...path, "change", "destinations", name];
        this.#named("destination", name, place, "name");
        this.#destination(name, destination, place);
      }
    }
    if ("retry" in step) this.#choice(step.retry, [...path, "retry"]);
    if ("cancel" in step) this.#choice(step.cancel, [...path, "cancel"]);
    if ("expect" in step) {
      const list = Array.isArray(step.expect) ? step.expect : [step.expect];
      for (const [index, one] of list.entries())
        this.#expectation(
          one,
          Array.isArray(step.expect) ? [...path, "expect", index] : [...path, "expect"],
        );
    }
  }

  #story({ caption, why, open, highlight }: ScenarioStep, path: Path): void {
    for (const [member, text] of Object.entries({ caption, why, highlight })) {
      if (text === undefined) continue;
      if (caption === undefined)
        this.#problem([...path, member], `${member} requires a caption, which begins a scene.`);
      const isText = member !== "highlight";
      for (const problem of problemsOfCaption(text, this.#storyNames, isText))
        this.#problem([...path, member], problem);
    }
    if (open === undefined) return;
    if (caption === undefined)
      this.#problem([...path, "open"], "open requires a caption, which begins a scene.");
    const { view, name } = splitOpen(open);
    if (!openable.some((each) => each === view))
      this.#problem([...path, "open"], unknownName(view, openable));
    const wrong = wrongToOpen(view, name, this.#storyNames, this.#names.source);
    if (wrong !== null) this.#problem([...path, "open"], unknownName(wrong.name, wrong.known));
  }

  /** `targets` are the endpoints that there are by then. */
  #forwards(endpoint: FileEndpoint, targets: readonly string[], path: Path): void {
    for (const [index, { to, hold = 1, mayBeDown }] of stepsOf(endpoint).entries()) {
      const place = [...path, ...(Array.isArray(endpoint) ? [] : ["steps"]), index];
      const wrongUrl = to === undefined || !isUrl(to) ? null : checkWebhookUrl(to);
      if (wrongUrl !== null) this.#problem([...place, "to"], wrongUrl);
      if (to !== undefined && !isUrl(to) && !targets.includes(to))
        this.#problem(
          [...place, "to"],
          this.#names.endpoint.includes(to)
            ? `${inOneLine(to)} is not above this endpoint. A forward leads to the full URL of a receiver, or to an endpoint above it.`
            : `A forward leads to the full URL of a receiver, such as http://127.0.0.1:3000/, or to an endpoint above it. ${unknownName(to, targets)}`,
        );
      if (mayBeDown !== undefined && (to === undefined || !isUrl(to)))
        this.#problem(
          [...place, "mayBeDown"],
          "mayBeDown goes with a URL in to; an endpoint of this file is always there.",
        );
      if (hold > this.#laneConnections)
        this.#problem(
          [...place, "hold"],
          `${hold} requests are never in progress together, because laneConnections is ${this.#laneConnections} here. Write settings: { laneConnections: ${hold} }.`,
        );
    }
  }

  #destination(
    name: string,
    { sources = [], webhooks = [], mappings = [] }: Partial<FileDestination>,
    path: Path,
  ): void {
    for (const [index, source] of sources.entries())
      this.#named("source", source, [...path, "sources", index]);
    for (const [index, webhook] of webhooks.entries())
      this.#webhook(name, webhook, [...path, "webhooks", index]);
    for (const [index, { endpoint, url }] of mappings.entries()) {
      const place = [...path, "mappings", index];
      if (endpoint !== undefined) this.#named("endpoint", endpoint, [...place, "endpoint"]);
      const wrongUrl = typeof url === "string" ? checkWebhookUrl(url) : null;
      if (wrongUrl !== null) this.#problem([...place, "url"], wrongUrl);
    }
  }

  #computed(
    {
      audiences = {},
      computedTraits = {},
    }: Pick<Partial<Scenario>, "computedTraits"> & Pick<FileChange, "audiences">,
    path: Path,
  ): void {
    for (const [kind, things] of Object.entries({ audiences, computedTraits })) {
      for (const [name, { destinations = [] }] of Object.entries(things)) {
        for (const [index, destination] of destinations.entries()) {
          this.#named("destination", destination, [...path, kind, name, "destinations", index]);
        }
      }
    }
  }

  #webhook(destination: string, webhook: FileWebhook, path: Path): void {
    const { endpoint, url, headers = {} } = webhook;
    if (endpoint !== undefined && this.#named("endpoint", endpoint, [...path, "endpoint"]))
      this.#onlyWebhookAt(endpoint, destination, path);
    const wrongUrl = url === undefined ? null : checkWebhookUrl(url);
    if (wrongUrl !== null) this.#problem([...path, "url"], wrongUrl);
    const entries = Object.entries(headers);
    if (entries.length > maxHeaders)
      this.#problem([...path, "headers"], `A webhook has at most ${maxHeaders} headers.`);
    for (const [name, value] of entries) {
      const wrong = checkHeader(name, value);
      if (wrong !== null) this.#problem([...path, "headers", name], wrong);
    }
  }

  /**
   * Two webhooks at one endpoint run into each other: which of them meets which step would be left
   * to chance.
   */
  #onlyWebhookAt(endpoint: string, destination: string, path: Path): void {
    const isUsed = [...this.#endpointsOf.values()].some((used) => used.includes(endpoint));
    const used = this.#endpointsOf.get(destination) ?? [];
    this.#endpointsOf.set(destination, [...used, endpoint]);
    if (!isUsed || this.#laneConnections > 1 || !this.#programs(endpoint).some(isOrdered)) return;
    this.#problem(
      [...path, "endpoint"],
      `Another webhook already uses the endpoint ${inOneLine(endpoint)}, so the requests that its steps serve would differ from run to run. Give this one its own endpoint.`,
    );
  }

  #programs(endpoint: string): FileEndpoint[] {
    const changed = this.#scenario.steps.map((step) =>
      "change" in step ? step.change.endpoints?.[endpoint] : undefined,
    );
    return [this.#scenario.endpoints?.[endpoint], ...changed].filter(
      (program) => program !== undefined,
    );
  }

  #sending({ from, answers, resend = 0 }: SendStep | PostStep, path: Path): void {
    const sources = this.#names.source;
    if (from !== undefined) this.#named("source", from, [...path, "from"]);
    else if (sources.length > 1)
      this.#problem(
        path,
        `There are several sources, so name the one that sends: from: ${inOneLine(sources[0] ?? "")}.`,
      );
    if (Array.isArray(answers) && answers.length !== resend + 1) {
      const wanted =
        resend === 0
          ? "one answer, because nothing is sent again"
          : `${resend + 1} answers, one for each time that it is sent`;
      this.#problem(
        [...path, "answers"],
        `answers must have ${wanted}, but it has ${answers.length}.`,
      );
    }
  }

  #repetition({ send, repeat, every, batch, rejected }: SendStep, path: Path): void {
    if (every !== undefined && repeat === undefined)
      this.#problem([...path, "every"], "every requires repeat: say how many times.");
    if (rejected !== undefined && !Array.isArray(send) && batch === undefined) {
      this.#problem(
        [...path, "rejected"],
        "rejected applies to a batch. A single message that is rejected gets 400: write answers: 400.",
      );
    }
  }

  #choice(of: Choice, path: Path): void {
    for (const kind of ["endpoint", "destination"] as const) {
      for (const [name, place] of several(of[kind], [...path, kind]))
        this.#named(kind, name, place);
    }
    // The messages of an audience come from a source of its name.
    for (const [name, place] of several(of.source, [...path, "source"]))
      this.#oneOfKinds(["source", "audience", "computed trait"], name, place);
    for (const [name, place] of several(of.name, [...path, "name"]))
      this.#named("audience", name, place);
    for (const [webhook, place] of several(of.webhook, [...path, "webhook"])) {
      const urls = this.#urls();
      // A directive makes a URL of each message.
      const isMade = isUrl(webhook) && urls.some((url) => typeof url !== "string");
      const known = [...this.#names.endpoint, ...urls.filter((url) => typeof url === "string")];
      if (!isMade && !known.includes(webhook)) this.#problem(place, unknownName(webhook, known));
    }
  }

  /** Of webhooks and mappings. */
  #urls(): unknown[] {
    const changes = this.#scenario.steps.flatMap((step) =>
      "change" in step ? Object.values(step.change.destinations ?? {}) : [],
    );
    return [...Object.values(this.#scenario.destinations ?? {}), ...changes].flatMap(
      ({ webhooks = [], mappings = [] }) =>
        [...webhooks, ...mappings].flatMap(({ url }) => url ?? []),
    );
  }

  #expectation(one: Expectation, path: Path): void {
    for (const [subject, claim] of Object.entries(one)) {
      const place = [...path, subject];
      if (claim === undefined) continue;
      if ("token" in claim) {
        const wrongUrl = claim.url === undefined ? null : checkWebhookUrl(claim.url);
        if (wrongUrl !== null) this.#problem([...place, "url"], wrongUrl);
      }
      if ("of" in claim && claim.of !== undefined) this.#choice(claim.of, [...place, "of"]);
      if ("body" in claim) this.#paths(claim.body, [...place, "body"]);
      if ("response" in claim) this.#paths(claim.response?.body, [...place, "response", "body"]);
      if ("decisions" in claim)
        for (const name of Object.keys(claim.decisions ?? {}))
          this.#named("destination", name, [...place, "decisions", name], "name");
    }
  }

  #paths(body: Record<string, unknown> | undefined, path: Path): void {
    for (const text of Object.keys(body ?? {})) {
      if (parseJsonPath(text) === null)
        this.#problem(
          [...path, text],
          `${inOneLine(text)} is not a path into JSON. ${pathWords}`,
          "name",
        );
    }
  }

  #named(kind: Kind, name: string, path: Path, where: "value" | "name" = "value"): boolean {
    if (this.#names[kind].includes(name)) return true;
    this.#problem(
      path,
      `There is no ${kind} ${unknownName(name, this.#names[kind]).replace(" is unknown.", ".")}`,
      where,
    );
    return false;
  }

  #oneOfKinds(kinds: readonly [Kind, ...Kind[]], name: string, path: Path): void {
    const known = kinds.flatMap((kind) => this.#names[kind]);
    if (!known.includes(name))
      this.#problem(
        path,
        `There is no ${kinds[0]} ${unknownName(name, known).replace(" is unknown.", ".")}`,
      );
  }

  #problem(path: Path, message: string, where: "value" | "name" = "value"): void {
    this.problems.push({
      ...(where === "name" ? this.#file.placeOfName(path) : this.#file.placeOf(path)),
      message,
    });
  }
}

type Names = string | readonly string[] | undefined;
type Choice = {
  name?: Names;
  source?: Names;
  endpoint?: Names;
  destination?: Names;
  webhook?: Names;
};

function several(names: Names, path: Path): [string, Path][] {
  if (names === undefined) return [];
  return typeof names === "string"
    ? [[names, path]]
    : names.map((name, index) => [name, [...path, index]]);
}

function created<What extends "audiences" | "computedTraits">(
  { steps }: Scenario,
  what: What,
): Scenario[What] {
  return Object.assign(
    {},
    ...steps.map((step) => ("create" in step ? step.create[what] : undefined)),
  );
}

export function sourcesOf({ sources }: Scenario): NonNullable<Scenario["sources"]> {
  return sources === undefined || Object.keys(sources).length === 0 ? { Source: null } : sources;
}

/** Whether it matters who comes first. */
function isOrdered(endpoint: FileEndpoint): boolean {
  const steps = stepsOf(endpoint);
  return steps.length > 1 || steps[0]?.chance !== undefined;
}
