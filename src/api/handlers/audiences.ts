import type { AudienceAnswer } from "../../contract/audiences.ts";
import { audienceIds, destinationIds, profileIds, sourceIds, type AudienceId, type ProfileId } from "../../domain/ids.ts";
import { isProblem, notFound } from "../../domain/problem.ts";
import type { Pipeline } from "../../engine/pipeline.ts";
import type { AudienceView } from "../../engine/profile-pipeline.ts";
import type { HandlersOf } from "../handler.ts";
import { presentBytes, presentTime, presentTimeOrNull } from "../presenters.ts";
import { computedChangesFrom, presentLastSync } from "./computed.ts";

export function audienceHandlers({ audiences }: Pipeline): HandlersOf<"audiences"> {
  const find = (text: string): AudienceId | null => {
    const id = audienceIds.parse(text);
    return id !== null && audiences.get(id) !== undefined ? id : null;
  };
  const presentUser = <User extends { profileId: ProfileId | null }>({ profileId, ...user }: User) => ({
    ...user,
    profileId: profileId === null ? null : profileIds.format(profileId),
  });
  return {
    "audiences.list": () => ({ items: audiences.list().map(presentAudience) }),
    "audiences.create": async ({ name, ...input }) => {
      const changes = computedChangesFrom(input);
      if (isProblem(changes)) return changes;
      const made = await audiences.create({ name, ...changes });
      return isProblem(made) ? made : presentAudience(made);
    },
    "audiences.get": (input) => {
      const id = find(input.id);
      const audience = id === null ? undefined : audiences.get(id);
      return audience === undefined ? notFound("audience", input.id) : presentAudience(audience);
    },
    "audiences.update": async ({ id: text, ...input }) => {
      const id = find(text);
      if (id === null) return notFound("audience", text);
      const changes = computedChangesFrom(input);
      if (isProblem(changes)) return changes;
      const changed = await audiences.update(id, changes);
      return isProblem(changed) ? changed : presentAudience(changed);
    },
    "audiences.delete": async (input) => {
      const id = find(input.id);
      if (id === null) return notFound("audience", input.id);
      return (await audiences.delete(id)) ?? { id: input.id };
    },
    "audiences.sync": (input) => {
      const id = find(input.id);
      return id === null ? notFound("audience", input.id) : audiences.sync(id);
    },
    "audiences.changes": async ({ id: text, sample }) => {
      const id = find(text);
      if (id === null) return notFound("audience", text);
      const changes = await audiences.changes(id, sample);
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

function presentAudience({ id, lastSync, openSync: _, ...audience }: AudienceView): AudienceAnswer {
  return {
    ...audience,
    id: audienceIds.format(id),
    destinationIds: audience.destinationIds.map(destinationIds.format),
    sourceId: sourceIds.format(audience.sourceId),
    lastSync: presentLastSync(lastSync),
    nextSyncAt: presentTimeOrNull(audience.nextSyncAt),
    createdAt: presentTime(audience.createdAt),
  };
}
