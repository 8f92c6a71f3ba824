import type { Json } from "./json.ts";

const zone = "[Zz]|[+-]\\d\\d(?::?\\d\\d)?";
const time = `(?:[Tt ](\\d{1,2}):(\\d\\d)(?::(\\d\\d)(?:[.,](\\d+))?)?(?: ?(${zone}))?)?$`;
const basicTime = `(?:[Tt](\\d\\d)(\\d\\d)(?:(\\d\\d)(?:[.,](\\d+))?)?(${zone})?)?$`;

/** As most clients write it. Its digits are read in their places. */
const usual = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const dateTime = new RegExp(`^(\\d{4})-(\\d{1,2})-(\\d{1,2})${time}`);
/** The other dates of ISO 8601: without dashes, and by week. */
const basicDate = new RegExp(`^(\\d{4})(\\d\\d)(\\d\\d)${basicTime}`);
const weekDate = new RegExp(`^(\\d{4})-W(\\d\\d)(?:-([1-7]))?${time}`);
const basicWeekDate = new RegExp(`^(\\d{4})W(\\d\\d)([1-7])?${basicTime}`);
const ordinalDate = new RegExp(`^(\\d{4})-(\\d{3})()${time}`);
/** Nine digits or more: a shorter one is more likely a year or a date without dashes. */
const epoch = /^-?\d{9,}(?:\.\d+)?$/;

/**
 * Numbers below this are seconds (as milliseconds they would end in March 1973), others
 * milliseconds (as seconds they would begin in the year 5138).
 */
const millisecondsFrom = 1e11;

const dayMs = 86_400_000;
/** Exactly, since the calendar repeats. */
const fourCenturies = 146_097 * dayMs;
const earliest = Date.UTC(400, 0, 1) - fourCenturies;
const latest = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

/**
 * Epoch milliseconds of a time as clients write it, fractions cut; null when it is none. Times
 * without a zone are UTC. Years have four digits: a number beyond them (microseconds, say) is no
 * time.
 */
export function parseTimestamp(value: Json | undefined): number | null {
  if (typeof value === "string") return parseText(value);
  if (typeof value === "number") return fromEpoch(value);
  return null;
}

/**
 * Times that are formatted one after the other mostly lie in one minute, and making a Date for each
 * is slow.
 */
let minute = Number.NaN;
let minuteText = "";

/** ISO 8601 with milliseconds and Z, of whole epoch milliseconds. */
export function formatTimestamp(ms: number): string {
  let within = ms - minute;
  if (!(within >= 0 && within < 60_000)) {
    minute = Math.floor(ms / 60_000) * 60_000;
    minuteText = new Date(minute).toISOString().slice(0, -7);
    within = ms - minute;
  }
  const second = Math.floor(within / 1000);
  const fraction = within - second * 1000;
  return `${minuteText}${second < 10 ? "0" : ""}${second}.${fraction < 10 ? "00" : fraction < 100 ? "0" : ""}${fraction}Z`;
}

/** Those that clients write are far shorter; a text that is no time can be as long as a request. */
const maxTextLength = 100;

function parseText(text: string): number | null {
  if (text.length > maxTextLength) return null;
  if (usual.test(text)) {
    const day = dayOf(digits(text, 0, 4), digits(text, 5, 7), digits(text, 8, 10));
    const [hour, minute] = [digits(text, 11, 13), digits(text, 14, 16)];
    return timeOf(day, hour, minute, digits(text, 17, 19), digits(text, 20, 23));
  }
  const parts = dateTime.exec(text) ?? basicDate.exec(text);
  if (parts !== null)
    return moment(parts, dayOf(Number(parts[1]), Number(parts[2]), Number(parts[3])));
  const weekParts = weekDate.exec(text) ?? basicWeekDate.exec(text);
  if (weekParts !== null) return moment(weekParts, dayOfWeekDate(weekParts));
  const ordinal = ordinalDate.exec(text);
  if (ordinal !== null) return moment(ordinal, dayOfOrdinalDate(ordinal));
  return epoch.test(text) ? fromEpoch(Number(text)) : null;
}

/** Date.UTC takes the years 0 to 99 for 1900 to 1999: days are counted four centuries later. */
function startOf(year: number, month = 1, day = 1): number {
  return Date.UTC(year + 400, month - 1, day);
}

function digits(text: string, start: number, end: number): number {
  let value = 0;
  for (let at = start; at < end; at += 1) value = value * 10 + text.charCodeAt(at) - 0x30;
  return value;
}

function dayOf(year: number, month: number, day: number): number | null {
  if (month < 1 || month > 12 || day < 1 || day > daysIn(year, month)) return null;
  return startOf(year, month, day);
}

/** Week 1 has the fourth of January; weeks start on Monday. */
function dayOfWeekDate(parts: RegExpExecArray): number | null {
  const year = Number(parts[1]);
  const fourth = startOf(year, 1, 4);
  const monday = fourth - ((new Date(fourth).getUTCDay() + 6) % 7) * dayMs;
  const start = monday + (Number(parts[2]) - 1) * 7 * dayMs;
  // A week belongs to the year that has its Thursday.
  const thursday = new Date(start + 3 * dayMs).getUTCFullYear() - 400;
  return thursday === year ? start + (Number(parts[3] ?? 1) - 1) * dayMs : null;
}

function dayOfOrdinalDate(parts: RegExpExecArray): number | null {
  const [year, day] = [Number(parts[1]), Number(parts[2])];
  const isWithin = day >= 1 && day <= 337 + daysIn(year, 2);
  return isWithin ? startOf(year) + (day - 1) * dayMs : null;
}

/** `parts` has the time of day from its fourth group on. */
function moment(parts: RegExpExecArray, start: number | null): number | null {
  const [hour, minute] = [Number(parts[4] ?? 0), Number(parts[5] ?? 0)];
  const fraction = parts[7];
  const milliseconds = fraction === undefined ? 0 : Number(fraction.slice(0, 3).padEnd(3, "0"));
  const offset = zoneMinutes(parts[8]);
  return offset === null
    ? null
    : timeOf(start, hour, minute, Number(parts[6] ?? 0), milliseconds, offset);
}

function timeOf(
  start: number | null,
  hour: number,
  minute: number,
  second: number,
  milliseconds: number,
  offset = 0,
): number | null {
  // A second of 60 is a leap second. It counts as the first of the next minute.
  if (start === null || hour > 23 || minute > 59 || second > 60) return null;
  const inDay = ((hour * 60 + minute - offset) * 60 + second) * 1000 + milliseconds;
  return inRange(start - fourCenturies + inDay);
}

function fromEpoch(value: number): number | null {
  if (!Number.isFinite(value)) return null;
  if (Math.abs(value) >= millisecondsFrom) return inRange(Math.floor(value));
  // A double holds the seconds of our time to a quarter of a microsecond. Half of one keeps .123
  // from being cut to .122, and leaves .122999 what it is.
  return inRange(Math.floor(value * 1000 + 0.0005));
}

function inRange(ms: number): number | null {
  return ms >= earliest && ms <= latest ? ms : null;
}

function daysIn(year: number, month: number): number {
  if (month === 2) return (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0 ? 29 : 28;
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
}

function zoneMinutes(zone: string | undefined): number | null {
  if (zone === undefined || zone.length === 1) return 0;
  const hours = Number(zone.slice(1, 3));
  const minutes = zone.length > 3 ? Number(zone.slice(-2)) : 0;
  if (hours > 23 || minutes > 59) return null;
  return zone[0] === "-" ? -(hours * 60 + minutes) : hours * 60 + minutes;
}
