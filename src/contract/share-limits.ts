/** What every reader of a share file knows before it reads one: where it is, and how large it may be. */

import { problem, type Problem } from "../domain/problem.ts";

/** The id under which a page looks for a share file in itself. */
export const embeddedShareId = "hookyard-share";

/** A compressed file can claim to be far larger than it is. */
export const maxShareBytes = 400_000_000;
/** More would not be a file that somebody opens in a second. */
export const maxSharedMessages = 10_000;

export const larger = (than: string): Problem =>
  problem(
    400,
    "share_too_large",
    `This share file holds more than ${than}, and no Hookyard writes one like that. It is not opened.`,
  );
export const tooLarge = larger("400 MB");

export const damaged = (why: string): Problem =>
  problem(
    400,
    "share_damaged",
    `This share file is damaged: ${why}. Ask for it again, as it was sent.`,
  );
