/**
 * Stories that are open: each in a pipeline of its own, in memory and on ports of its own, beside
 * the user's. A step forward takes the steps of a scene; a step back stops the pipeline and runs
 * the scenario again from its seed, on the same ports, so that everything is as it was to the byte.
 */

import { PortTaken } from "../../app-errors.ts";
import type { HandlersOf } from "../../contract/contract.ts";
import type { SceneAnswer, StoryAnswer } from "../../contract/stories.ts";
import {
  conflict,
  invalid,
  isProblem,
  notFound,
  problem,
  type Problem,
} from "../../domain/problem.ts";
import type { ScenarioPipeline } from "../run/pipeline.ts";
import type { Session } from "../run/session.ts";
import { fillCaption, type StoryMoment } from "./captions.ts";
import { scenesOf, splitOpen, storyNames, type Scene } from "./scenes.ts";
import type { ReadScenario } from "../file/scenario-schema.ts";

/** Each is a whole pipeline with its own ports. */
const maxOpen = 4;

/** Of a story in an answer: the list of those that are open stays below 1 MB. */
const maxStoryBytes = 160_000;
/** Of these, before anything was played. */
const maxPlainBytes = 110_000;

const sizeOf = (answer: StoryAnswer): number => Buffer.byteLength(JSON.stringify(answer));

/** A page that is reloaded is back within seconds; one that was closed never is. */
const abandonedMs = 30_000;

/** A pipeline on its ports; `Ports` and `Served` are the host's. */
type StoryPipeline<Ports, Served> = ScenarioPipeline & {
  ports: Ports;
  served: Served;
  stop(): Promise<void>;
};

/**
 * What the page sees of a story's pipeline: it stays the same while the pipeline is exchanged. Calls
 * wait at null.
 */
type Stage<Served> = { served: Served; show(pipeline: Served | Problem | null): void };

type StoriesOptions<Ports, Served> = {
  ready: (file: string) => Promise<string | null>;
  start: (options: { startAt: number; ports?: Ports }) => Promise<StoryPipeline<Ports, Served>>;
  createStage: (onWatched: (isWatched: boolean) => void) => Stage<Served>;
  /** In real time; returns a cancel function. */
  later: (ms: number, run: () => void) => () => void;
  report: (error: unknown) => void;
};

type Story<Ports, Served> = {
  answer: StoryAnswer;
  read: ReadScenario;
  scenes: Scene[];
  stage: Stage<Served>;
  pipeline: StoryPipeline<Ports, Served> | null;
  session: Session | null;
  /** What went wrong before the first scene, which tells it. */
  problemsBefore: string[];
  ports: Ports | undefined;
  /** One move after the other. */
  last: Promise<unknown>;
  /** The page that showed it has gone, and it ends soon; this keeps it. */
  keep: (() => void) | null;
  /** Aborted when it is closed. */
  end: AbortController;
};

export function createStories<Ports, Served>(options: StoriesOptions<Ports, Served>) {
  const open = new Map<string, Story<Ports, Served>>();
  let next = 1;

  async function openStory(
    text: string,
    file: string | null,
    caller?: AbortSignal,
  ): Promise<StoryAnswer | Problem> {
    const { forServing, readScenario } = await import("../file/read-scenario.ts");
    const read = readScenario(text, forServing);
    if ("problems" in read) {
      const [first] = read.problems;
      return invalid(`Line ${first?.line}: ${first?.message}`);
    }
    const scenes = scenesOf(read.scenario);
    if (scenes.length === 0)
      return invalid("This scenario has no captions. A step with a caption begins a scene.");
    const id = `story_${String(next).padStart(9, "0")}`;
    next += 1;
    const story: Story<Ports, Served> = {
      answer: {
        id,
        file,
        name: read.scenario.name,
        description: read.scenario.description ?? null,
        at: 0,
        run: 0,
        scenes: scenes.map(waiting),
      },
      read,
      scenes,
      stage: options.createStage((isWatched) => watched(story, isWatched)),
      pipeline: null,
      session: null,
      problemsBefore: [],
      ports: undefined,
      last: Promise.resolve(),
      keep: null,
      end: new AbortController(),
    };
    const bytes = sizeOf(story.answer);
    if (bytes > maxPlainBytes)
      return invalid(
        `The name, the description and the ${scenes.length} scenes take ${bytes} bytes in an answer; the limit is ${maxPlainBytes}.`,
      );
    if (open.size >= maxOpen) {
      const left = [...open.values()].find(({ keep }) => keep !== null);
      if (left !== undefined) await close(left);
    }
    if (open.size >= maxOpen)
      return conflict("too_many_stories", `${maxOpen} stories are open already. Close one.`);
    open.set(id, story);
    let opened: StoryAnswer | Problem | null = null;
    // Nobody knows the story of a page that goes away before the answer.
    const abandon = (): void => story.end.abort();
    caller?.addEventListener("abort", abandon);
    if (caller?.aborted === true) abandon();
    try {
      opened = await unlessClosed(story, () => begin(story, options));
      return opened;
    } finally {
      caller?.removeEventListener("abort", abandon);
      if (opened === null || isProblem(opened) || story.end.signal.aborted) await close(story);
    }
  }

  function watched(story: Story<Ports, Served>, isWatched: boolean): void {
    story.keep?.();
    story.keep =
      isWatched || story.end.signal.aborted
        ? null
        : options.later(abandonedMs, () => void close(story).catch(options.report));
  }

  async function close(story: Story<Ports, Served>): Promise<void> {
    story.end.abort();
    story.keep?.();
    story.keep = null;
    open.delete(story.answer.id);
    await inTurn(story, async () => {
      story.stage.show(notFound("story", story.answer.id));
      await stopPipeline(story);
    });
  }

  const handlers: HandlersOf<"stories"> = {
    "stories.list": () => ({ items: [...open.values()].map(({ answer }) => answer) }),
    "stories.open": async ({ text, file }, caller) => {
      const own = text ?? (file === undefined ? null : await options.ready(file));
      if (own === null)
        return file === undefined ? invalid("Pass a text or a file.") : notFound("scenario", file);
      return openStory(own, file ?? null, caller);
    },
    "stories.get": ({ id }) => open.get(id)?.answer ?? notFound("story", id),
    "stories.go": async ({ id, to, again }) => {
      const story = open.get(id);
      if (story === undefined) return notFound("story", id);
      return unlessClosed(story, () => go(story, { to, again }, options));
    },
    "stories.close": async ({ id }) => {
      const story = open.get(id);
      if (story === undefined) return notFound("story", id);
      await close(story);
      return { id };
    },
  };

  return {
    handlers,
    /** The pipeline of an open story. */
    served: (id: string): Served | undefined => open.get(id)?.stage.served,
    async stop(): Promise<void> {
      await Promise.all([...open.values()].map((story) => close(story).catch(options.report)));
    },
  };
}

/** What is done with a story is done one after the other. */
function inTurn<Ports, Served, Result>(
  story: Story<Ports, Served>,
  run: () => Promise<Result>,
): Promise<Result> {
  const done = story.last.then(run);
  story.last = done.catch(() => undefined);
  return done;
}

/** The same, for what the end of the story cuts off. */
function unlessClosed<Ports, Served>(
  story: Story<Ports, Served>,
  run: () => Promise<StoryAnswer | Problem>,
): Promise<StoryAnswer | Problem> {
  return inTurn(story, run).catch((error: unknown) => {
    if (!story.end.signal.aborted) throw error;
    return notFound("story", story.answer.id);
  });
}

async function go<Ports, Served>(
  story: Story<Ports, Served>,
  { to, again }: { to: number; again: boolean },
  options: StoriesOptions<Ports, Served>,
): Promise<StoryAnswer | Problem> {
  if (story.end.signal.aborted) return notFound("story", story.answer.id);
  if (to > story.scenes.length)
    return invalid(`The story has ${story.scenes.length} scenes, and ${to} is beyond the last.`);
  // It has no session after a start that failed.
  if (again || to < story.answer.at || story.session === null) {
    const begun = await beginAgain(story, options);
    if (isProblem(begun)) return begun;
  }
  while (story.answer.at < to) await playScene(story);
  return story.answer;
}

const waiting = ({ highlight }: Pick<Scene, "highlight">): SceneAnswer => ({
  caption: null,
  why: null,
  place: null,
  highlight,
  state: "waiting",
  problems: [],
});

const stopped = (why: string): Problem =>
  problem(503, "story_stopped", `The story could not begin again. ${why} Go to a scene to retry.`);

/** The calls that wait for the pipeline are answered also when it does not start. */
async function beginAgain<Ports, Served>(
  story: Story<Ports, Served>,
  options: StoriesOptions<Ports, Served>,
): Promise<StoryAnswer | Problem> {
  let begun: StoryAnswer | Problem = stopped("Standard error has the details.");
  try {
    begun = await begin(story, options);
  } catch (error) {
    if (!(error instanceof PortTaken)) throw error;
    begun = stopped(error.message);
  } finally {
    if (isProblem(begun)) story.stage.show(begun);
  }
  return begun;
}

/** With the connections of its `request` steps. */
async function stopPipeline<Ports, Served>(story: Story<Ports, Served>): Promise<void> {
  story.session?.requests.close();
  story.session = null;
  await story.pipeline?.stop();
  story.pipeline = null;
}

/** Starts the pipeline again, sets it up, and takes the steps before the first scene. */
async function begin<Ports, Served>(
  story: Story<Ports, Served>,
  { start }: Pick<StoriesOptions<Ports, Served>, "start">,
): Promise<StoryAnswer | Problem> {
  const { startTimeOf, untilAborted } = await import("../run/run-scenario.ts");
  const { startSession } = await import("../run/set-up.ts");
  const { read, stage, scenes, end } = story;
  stage.show(null);
  await stopPipeline(story);
  const pipeline = await start({
    startAt: startTimeOf(read.scenario),
    ...(story.ports === undefined ? {} : { ports: story.ports }),
  });
  story.pipeline = pipeline;
  story.ports = pipeline.ports;
  const session = await startSession(untilAborted(end.signal, pipeline), read);
  if ("problem" in session)
    return invalid(`Line ${session.problem.line}: ${session.problem.message}`);
  story.session = session;
  story.problemsBefore = await takeSteps(story, session, { from: 0, to: scenes[0]?.from ?? 0 });
  story.answer = {
    ...story.answer,
    at: 0,
    run: story.answer.run + 1,
    scenes: scenes.map(waiting),
  };
  stage.show(pipeline.served);
  return story.answer;
}

/** Returns what went wrong. */
async function takeSteps<Ports, Served>(
  { read, end }: Story<Ports, Served>,
  session: Session,
  { from, to }: Pick<Scene, "from" | "to">,
): Promise<string[]> {
  const { takeStep } = await import("../run/run-scenario.ts");
  const problems: string[] = [];
  for (let index = from; index < to; index += 1) {
    const { problem, expectations } = await takeStep(read, session, index, end.signal);
    if (problem !== null) problems.push(problem);
    for (const { passed, text, actual } of expectations)
      if (!passed) problems.push(`Expected ${text}, but ${actual}.`);
  }
  return problems;
}

async function playScene<Ports, Served>(story: Story<Ports, Served>): Promise<void> {
  const { read, session, pipeline, answer } = story;
  const scene = story.scenes[answer.at];
  if (session === null || pipeline === null || scene === undefined) return;
  const before = session.startedAt + (await session.elapsed());
  // Single messages are only kept while somebody looks, and this scene's view opens afterwards.
  if (scene.open === "flow") await pipeline.call("flow.get", {});
  const problems = [
    ...(answer.at === 0 ? story.problemsBefore : []),
    ...(await takeSteps(story, session, scene)),
  ];
  const moment: StoryMoment = {
    history: await session.history(),
    startedAt: session.startedAt,
    before,
    names: storyNames(read.scenario),
  };
  const filled = (text: string | null): SceneAnswer["caption"] => {
    try {
      return text === null ? null : fillCaption(text, moment);
    } catch (error) {
      problems.push((error as Error).message);
      return null;
    }
  };
  const played: SceneAnswer = {
    caption: filled(scene.caption),
    why: filled(scene.why),
    place: await placeOf(scene, moment, pipeline),
    highlight:
      filled(scene.highlight)
        ?.map(({ text }) => text)
        .join("") ?? null,
    problems,
    state: problems.length === 0 ? "passed" : "failed",
  };
  const withScene = (shown: SceneAnswer): StoryAnswer => ({
    ...answer,
    at: answer.at + 1,
    scenes: answer.scenes.with(answer.at, shown),
  });
  const whole = withScene(played);
  story.answer =
    sizeOf(whole) <= maxStoryBytes
      ? whole
      : withScene({
          ...waiting(scene),
          state: played.state,
          problems: ["The texts of this scene are too long to show."],
        });
}

/** The ids of what a scene opens by name. */
async function placeOf(
  { open }: Scene,
  { history }: StoryMoment,
  pipeline: ScenarioPipeline,
): Promise<SceneAnswer["place"]> {
  if (open === null) return null;
  const { view, name } = splitOpen(open);
  const place = (id: string | undefined) => ({ view, path: id === undefined ? [] : [id] });
  if (name === null) return place(undefined);
  const profileId = async (userId: string): Promise<string | undefined> =>
    (await pipeline.call("profiles.list", { userId })).items[0]?.id;
  const idNamed = async (of: "audiences" | "destinations" | "endpoints", wanted: string) => {
    const { items } = await pipeline.call(`${of}.list`, {});
    return (items as { id: string; name: string }[]).find((each) => each.name === wanted)?.id;
  };
  switch (view) {
    case "live": {
      const last = history.messages.findLast(
        ({ source, details }) => source === name || details.userId === name,
      );
      return place(last?.details.id);
    }
    case "profiles":
      return place(await profileId(name));
    case "audiences":
    case "destinations":
    case "endpoints":
      return place(await idNamed(view, name));
    case "stage": {
      const [user = "", audience = "", destination = ""] = name.split("/");
      const ids = [
        await profileId(user),
        await idNamed("audiences", audience),
        await idNamed("destinations", destination),
      ];
      return { view, path: ids.filter((id) => id !== undefined) };
    }
    default:
      return place(undefined);
  }
}
