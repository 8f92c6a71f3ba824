import { first } from "./0001-first.ts";
import { profiles } from "./0002-profiles.ts";
import { clients } from "./0003-clients.ts";
import { held } from "./0004-held.ts";
import { kindsInMemory } from "./0005-kinds-in-memory.ts";
import { quotas } from "./0006-quotas.ts";
import { outcomes } from "./0007-outcomes.ts";
import { mappedRequests } from "./0008-mapped-requests.ts";
import { plans } from "./0009-plans.ts";
import { hosted } from "./0010-hosted.ts";
import { postingSegments } from "./0011-posting-segments.ts";
import { following } from "./0012-following.ts";

/**
 * What brings older files to `schema.ts`, in order; the place in the list, from 1, is the version
 * that `user_version` holds afterwards.
 */
export const migrations: readonly string[] = [
  first,
  profiles,
  clients,
  held,
  kindsInMemory,
  quotas,
  outcomes,
  mappedRequests,
  plans,
  hosted,
  postingSegments,
  following,
];
