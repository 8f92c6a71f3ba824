/**
 * JUnit XML has no official schema. The two that CI systems go by are the one of Ant's reports and
 * the one of Jenkins' xUnit plugin; this holds a document against the stricter rules of both, and
 * answers what is wrong with it.
 */

type XmlElement = {
  name: string;
  attributes: Map<string, string>;
  children: XmlElement[];
  text: string;
};

type Rule = {
  /** Required ones, with what their values must look like. */
  attributes: Record<string, RegExp>;
  optional?: Record<string, RegExp>;
  /** A sequence: each name with how often it may be there. */
  children: [names: string, least: number, most: number][];
  text?: boolean;
};

const token = /^\S(?:.*\S)?$/;
const whole = /^\d+$/;
const decimal = /^\d+\.\d+$/;
const any = Number.POSITIVE_INFINITY;
const reason: Rule = {
  attributes: { type: token },
  optional: { message: /./ },
  children: [],
  text: true,
};

const rules: Record<string, Rule> = {
  testsuites: { attributes: {}, children: [["testsuite", 0, any]] },
  testsuite: {
    attributes: {
      package: /^\S*$|./,
      id: whole,
      name: token,
      timestamp: /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d$/,
      hostname: token,
      tests: whole,
      failures: whole,
      errors: whole,
      time: decimal,
    },
    optional: { skipped: whole },
    children: [
      ["properties", 1, 1],
      ["testcase", 0, any],
      ["system-out", 1, 1],
      ["system-err", 1, 1],
    ],
  },
  properties: { attributes: {}, children: [["property", 0, any]] },
  property: { attributes: { name: token, value: /^/ }, children: [] },
  testcase: {
    attributes: { name: token, classname: token, time: decimal },
    children: [["skipped|error|failure", 0, 1]],
  },
  skipped: { attributes: {}, optional: { message: /./ }, children: [] },
  error: reason,
  failure: reason,
  "system-out": { attributes: {}, children: [], text: true },
  "system-err": { attributes: {}, children: [], text: true },
};

export function wrongWithJunit(xml: string): string[] {
  const root = readXml(xml);
  const wrong = root.name === "testsuites" ? [] : [`the root is ${root.name}`];
  const look = (element: XmlElement): void => {
    wrong.push(...wrongWith(element));
    for (const child of element.children) look(child);
  };
  look(root);
  for (const suite of root.children) wrong.push(...wrongCounts(suite));
  return wrong;
}

function wrongWith({ name, attributes, children, text }: XmlElement): string[] {
  const rule = rules[name];
  if (rule === undefined) return [`${name} is not known`];
  const wrong: string[] = [];
  for (const [key, pattern] of Object.entries(rule.attributes)) {
    const value = attributes.get(key);
    if (value === undefined) wrong.push(`${name} lacks ${key}`);
    else if (!pattern.test(value)) wrong.push(`${name} has ${key}="${value}"`);
  }
  for (const [key, value] of attributes) {
    if (key in rule.attributes) continue;
    if (rule.optional?.[key]?.test(value) !== true)
      wrong.push(`${name} may not have ${key}="${value}"`);
  }
  if (rule.text !== true && text.trim() !== "") wrong.push(`${name} has text in it`);
  const rest = children.map((child) => child.name);
  for (const [names, least, most] of rule.children) {
    let count = 0;
    while (rest.length > 0 && names.split("|").includes(rest[0] ?? "")) {
      rest.shift();
      count += 1;
    }
    if (count < least || count > most) wrong.push(`${name} has ${count} ${names}`);
  }
  if (rest.length > 0) wrong.push(`${name} has ${rest.join(", ")} in a wrong place`);
  return wrong;
}

function wrongCounts({ attributes, children }: XmlElement): string[] {
  const cases = children.filter(({ name }) => name === "testcase");
  const having = (name: string): number =>
    cases.filter((one) => one.children.some((child) => child.name === name)).length;
  const counts: [string, number][] = [
    ["tests", cases.length],
    ["failures", having("failure")],
    ["errors", having("error")],
    ["skipped", having("skipped")],
  ];
  return counts.flatMap(([key, count]) =>
    attributes.get(key) === String(count)
      ? []
      : [`${key} is ${attributes.get(key)}, and there are ${count}`],
  );
}

const entities: Record<string, string> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };
// What XML 1.0 allows in a document at all.
const legal = /^[\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]*$/u;

/** As much of XML as such a document has; whatever is not well-formed throws. */
export function readXml(xml: string): XmlElement {
  if (!legal.test(xml)) throw new Error("There are characters that XML does not allow.");
  const head = /^<\?xml version="1\.0" encoding="UTF-8"\?>\s*/.exec(xml);
  if (head === null) throw new Error("The XML declaration is missing.");
  const tag = /<(\/?)([A-Za-z][\w.-]*)((?:\s+[A-Za-z][\w.-]*="[^"<]*")*)\s*(\/?)>/y;
  const top: XmlElement = { name: "", attributes: new Map(), children: [], text: "" };
  const open = [top];
  let at = head[0].length;
  while (at < xml.length) {
    const next = xml.indexOf("<", at);
    const text = xml.slice(at, next === -1 ? undefined : next);
    const inside = open.at(-1) ?? top;
    inside.text += decoded(text);
    if (next === -1) break;
    tag.lastIndex = next;
    const [whole = "", closing, name = "", list = "", empty] = tag.exec(xml) ?? [];
    if (whole === "") throw new Error(`There is no tag at ${xml.slice(next, next + 60)}`);
    at = next + whole.length;
    if (closing === "/") {
      if (open.pop()?.name !== name) throw new Error(`</${name}> closes nothing.`);
      continue;
    }
    const attributes = new Map<string, string>();
    for (const [, key = "", value = ""] of list.matchAll(/([A-Za-z][\w.-]*)="([^"]*)"/g)) {
      if (attributes.has(key)) throw new Error(`${name} has ${key} twice.`);
      attributes.set(key, decoded(value));
    }
    const element: XmlElement = { name, attributes, children: [], text: "" };
    inside.children.push(element);
    if (empty !== "/") open.push(element);
  }
  const [root, ...more] = top.children;
  if (open.length !== 1 || root === undefined || more.length > 0 || top.text.trim() !== "")
    throw new Error("There is not exactly one element at the top.");
  return root;
}

function decoded(text: string): string {
  return text.replace(/&([^;&]*);|&/g, (_, name: string | undefined) => {
    const sign = entities[name ?? ""];
    if (sign === undefined) throw new Error(`&${name ?? ""} is no entity.`);
    return sign;
  });
}
