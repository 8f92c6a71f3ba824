import type { RetryProfileAnswer } from "../../contract/retry-profiles.ts";
import type { RetryProfile } from "../../domain/configuration.ts";
import type { RetryProfileId } from "../../domain/ids.ts";
import { retryProfileIds } from "../../domain/ids.ts";
import type { Problem } from "../../domain/problem.ts";
import { conflict, isProblem, notFound } from "../../domain/problem.ts";
import { documented } from "../../domain/retry.ts";
import type { Pipeline } from "../../engine/pipeline.ts";
import type { HandlersOf } from "../handler.ts";

type Profile = RetryProfile & { id: RetryProfileId | null };

function presentProfile(profile: Profile): RetryProfileAnswer {
  return { ...profile, id: profile.id === null ? null : retryProfileIds.format(profile.id), builtIn: profile.id === null };
}

/** A new profile with what its draft leaves out taken from `documented`. */
export function completeProfile(draft: Partial<RetryProfile> & { name: string }): RetryProfile {
  const { name, schedule, jitter, windowMs, timeoutMs, retriedStatuses, retryTimeouts, retryConnectionErrors } = {
    ...documented,
    ...draft,
  };
  return { name, schedule, jitter, windowMs, timeoutMs, retriedStatuses, retryTimeouts, retryConnectionErrors };
}

export function retryProfileHandlers({ configuration }: Pipeline): HandlersOf<"retryProfiles"> {
  const find = (text: string): Profile | Problem => {
    const id = retryProfileIds.parse(text);
    const all = configuration.retryProfiles();
    return (
      all.find((profile) => profile.id !== null && profile.id === id) ??
      all.find((profile) => profile.name === text) ??
      notFound("retry profile", text)
    );
  };
  const findCustom = (text: string): RetryProfileId | Problem => {
    const profile = find(text);
    if (isProblem(profile)) return profile;
    return profile.id ?? conflict("built_in", `The retry profile ${profile.name} is built in. Make one of your own and change that.`);
  };
  return {
    "retryProfiles.list": () => ({ items: configuration.retryProfiles().map(presentProfile) }),
    "retryProfiles.create": (draft) => {
      const made = configuration.createRetryProfile(completeProfile(draft));
      return isProblem(made) ? made : presentProfile(made);
    },
    "retryProfiles.get": (input) => {
      const profile = find(input.id);
      return isProblem(profile) ? profile : presentProfile(profile);
    },
    "retryProfiles.update": ({ id: text, ...changes }) => {
      const id = findCustom(text);
      if (isProblem(id)) return id;
      const changed = configuration.updateRetryProfile(id, changes);
      return isProblem(changed) ? changed : presentProfile(changed);
    },
    "retryProfiles.delete": (input) => {
      const id = findCustom(input.id);
      return isProblem(id) ? id : (configuration.deleteRetryProfile(id) ?? { id: input.id });
    },
  };
}
