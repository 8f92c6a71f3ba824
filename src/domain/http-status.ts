/**
 * The statuses of answers: three digits, the first of them not 0. HTTP has a meaning for 100 to 599
 * only, yet receivers answer beyond, so whatever reads, retries or looks for a status takes them
 * all.
 */

export const lowestStatus = 100;
export const highestStatus = 999;

/** One of them, or all of a hundred: `503`, `5xx`. */
export const statusPattern = /^[1-9](?:\d\d|xx)$/;
