import type { AudienceAnswer } from "../../contract/audiences.ts";
import { audienceIds, profileIds, type AudienceId, type ProfileId } from "../../domain/ids.ts";
import { isProblem, type Problem } from "../../domain/problem.ts";
import type { Pipeline } from "../../engine/pipeline.ts";
import type { AudienceView } from "../../engine/profile-pipeline.ts";
import type { HandlersOf } from "../handler.ts";
import { withId } from "../inputs.ts";
import { presentBytes, presentTimeOrNull } from "../presenters.ts";
import { computedChangesFrom, presentComputed } from "./computed.ts";

export function audienceHandlers({ audiences }: Pipeline): HandlersOf<"audiences"> {
  const withAudience = <Answer>(text: string, act: (id: AudienceId) => Answer): Answer | Problem =>
    withId(audienceIds, "audience", text, act);
  const presented = (answer: AudienceView | Problem): AudienceAnswer | Problem => (isProblem(answer) ? answer : presentAudience(answer));
  const presentUser = <User extends { profileId: ProfileId | null }>({ profileId, ...user }: User) => ({
    ...user,
    profileId: profileId === null ? null : profileIds.format(profileId),
  });
  return {
    "audiences.list": () => ({ items: audiences.list().map(presentAudience) }),
    "audiences.create": async ({ name, ...input }) => {
      const changes = computedChangesFrom(input);
      return isProblem(changes) ? changes : presented(await audiences.create({ name, ...changes }));
    },
    "audiences.get": ({ id: text }) => presented(withAudience(text, (id) => audiences.get(id))),
    "audiences.update": async ({ id: text, ...input }) => {
      const changes = computedChangesFrom(input);
      return isProblem(changes) ? changes : presented(await withAudience(text, (id) => audiences.update(id, changes)));
    },
    "audiences.delete": async ({ id: text }) => (await withAudience(text, (id) => audiences.delete(id))) ?? { id: text },
    "audiences.sync": ({ id: text }) => withAudience(text, (id) => audiences.sync(id)),
    "audiences.changes": async ({ id: text, sample }) => {
      const changes = await withAudience(text, (id) => audiences.changes(id, sample));
      if (isProblem(changes)) return changes;
      return {
        ...changes,
        sample: changes.sample.map(({ payload, ...user }) => ({ ...presentUser(user), payload: presentBytes(payload) })),
      };
    },
    "audiences.preview": async ({ rule, members = [], sample }) => {
      const preview = await audiences.preview(rule === undefined ? { members } : { rule }, sample);
      return isProblem(preview) ? preview : { ...preview, sample: preview.sample.map(presentUser) };
    },
    "audiences.explain": async ({ rule, userId }) => {
      const explained = await audiences.explain(rule, userId);
      return isProblem(explained) ? explained : { ...explained, userId, until: presentTimeOrNull(explained.until) };
    },
  };
}

function presentAudience({ openSync: _, ...audience }: AudienceView): AudienceAnswer {
  return { ...audience, ...presentComputed(audience), id: audienceIds.format(audience.id) };
}
