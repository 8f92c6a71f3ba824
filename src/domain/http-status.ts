/**
 * The statuses of answers: three digits, the first of them not 0. HTTP has a meaning for 100 to 599
 * only, yet receivers answer beyond, so whatever reads, retries or looks for a status takes them
 * all.
 */

export const lowestStatus = 100;
export const highestStatus = 999;

/** What a filter may ask for: `503`, `5xx` for all of a hundred, `>=500`; `last=503` of the newest. */
export const askedStatusPattern = /^(?:last=)?(?:[<>]=?)?[1-9](?:\d\d|xx)$/;
