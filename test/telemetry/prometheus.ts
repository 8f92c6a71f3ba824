/**
 * Reads Prometheus's text format, version 0.0.4, and refuses whatever its documentation does not
 * allow: it is stricter than the scrapers, which accept more.
 */

type Family = {
  type: string;
  help: string;
  /** By their labels, `{state="failed"}`, in the order of the text; of a histogram with the suffix. */
  samples: Map<string, number>;
};

const name = "[a-zA-Z_:][a-zA-Z0-9_:]*";
const labels = String.raw`\{(?:[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*"(?:,(?!\})|(?=\})))*\}`;
const sampleLine = new RegExp(
  `^(${name})(${labels})? (-?(?:\\d+\\.?\\d*(?:e[+-]?\\d+)?|Inf)|NaN)$`,
);

export function readMetrics(text: string): Map<string, Family> {
  if (!text.endsWith("\n") || text.includes("\r")) throw new Error("The last line has no end.");
  const families = new Map<string, Family>();
  let current: { name: string; family: Family } | null = null;
  for (const line of text.slice(0, -1).split("\n")) {
    const help = new RegExp(`^# HELP (${name}) ([^\\\\]+)$`).exec(line);
    if (help !== null) {
      const [, of = "", words = ""] = help;
      if (families.has(of)) throw new Error(`${of} is in two places.`);
      current = { name: of, family: { type: "", help: words, samples: new Map() } };
      families.set(of, current.family);
      continue;
    }
    if (current === null) throw new Error(`No HELP before ${line}`);
    const type = new RegExp(`^# TYPE (${name}) (counter|gauge|histogram)$`).exec(line);
    if (type !== null) {
      if (type[1] !== current.name || current.family.type !== "")
        throw new Error(`TYPE in the wrong place: ${line}`);
      current.family.type = type[2] as string;
      continue;
    }
    const sample = sampleLine.exec(line);
    if (sample === null) throw new Error(`Not a sample: ${line}`);
    const [, full = "", labelled = "", value = ""] = sample;
    const suffix = full.slice(current.name.length);
    const allowed = current.family.type === "histogram" ? ["_bucket", "_sum", "_count"] : [""];
    if (!full.startsWith(current.name) || !allowed.includes(suffix))
      throw new Error(`${full} is not of ${current.name}.`);
    const key = suffix + labelled;
    if (current.family.samples.has(key)) throw new Error(`${full}${labelled} appears twice.`);
    current.family.samples.set(key, Number(value.replace("Inf", "Infinity")));
  }
  for (const [of, family] of families) checkFamily(of, family);
  return families;
}

function checkFamily(of: string, { type, samples }: Family): void {
  if (type === "counter" && !of.endsWith("_total")) throw new Error(`${of} is not named a total.`);
  if (samples.size === 0) throw new Error(`${of} has no sample.`);
  if (type !== "histogram") return;
  const buckets = [...samples].filter(([key]) => key.startsWith("_bucket"));
  const bounds = buckets.map(([key]) => /le="([^"]+)"/.exec(key)?.[1] ?? "");
  const counts = buckets.map(([, count]) => count);
  const isSorted = (values: number[]): boolean =>
    values.every((value, at) => at === 0 || value >= (values[at - 1] as number));
  if (bounds.at(-1) !== "+Inf" || !isSorted(bounds.slice(0, -1).map(Number)) || !isSorted(counts))
    throw new Error(`${of} has its buckets in another order.`);
  if (counts.at(-1) !== samples.get("_count")) throw new Error(`${of} has two counts.`);
}
