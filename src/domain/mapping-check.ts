/**
 * What is wrong with a mapping, before an event is there. It refuses exactly what the open source
 * refuses, so a directive within a plain array or a literal is not looked at; it can still fail for
 * an event.
 */

type MappingMistake = {
  /** The members down to it: `data.total.@path`. Empty for the whole value. */
  readonly place: string;
  readonly message: string;
};

export const maxPatternLength = 10;

type Check = (value: unknown, place: Place, mistakes: MappingMistake[]) => void;
type Place = readonly string[];
type Fields = Readonly<Record<string, { required?: Check; optional?: Check }>>;

export function mistakesOfMapping(mapping: unknown): MappingMistake[] {
  const mistakes: MappingMistake[] = [];
  checkValue(mapping, [], mistakes);
  return mistakes;
}

/** A JSON value, where an object with a directive's name in it is a directive. */
function kindOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  if (typeof value !== "object") return typeof value;
  return Object.keys(value).some((key) => key.startsWith("@")) ? "directive" : "object";
}

const names: Readonly<Record<string, string>> = {
  null: "null",
  array: "an array",
  boolean: "a boolean",
  number: "a number",
  string: "a text",
  object: "an object",
  directive: "a directive",
};

function report(
  mistakes: MappingMistake[],
  place: Place,
  message: string,
  value?: { it: unknown },
): void {
  const found = value === undefined ? "" : `, not ${names[kindOf(value.it)] ?? kindOf(value.it)}`;
  mistakes.push({ place: place.join("."), message: `${message}${found}.` });
}

const checkValue: Check = (value, place, mistakes) => {
  const kind = kindOf(value);
  if (kind === "directive") checkDirective(value as Record<string, unknown>, place, mistakes);
  if (kind !== "object") return;
  for (const [key, inner] of Object.entries(value as object))
    checkValue(inner, [...place, key], mistakes);
};

function checkDirective(
  value: Record<string, unknown>,
  place: Place,
  mistakes: MappingMistake[],
): void {
  const keys = Object.keys(value);
  const [name, second] = keys.filter((key) => key.startsWith("@"));
  const other = keys.find((key) => !key.startsWith("@") && key !== "_metadata");
  if (second !== undefined || other !== undefined) {
    return report(mistakes, place, `Nothing else can stand beside ${name}: ${second ?? other}`);
  }
  const check = directives.get(name!);
  if (name === "@liquid")
    return report(mistakes, place, "Hookyard has no Liquid: write @liquid as @template or @if");
  if (check === undefined) return report(mistakes, place, `${name} is not a directive`);
  check(value[name!], [...place, name!], mistakes);
}

const oneOfKinds =
  (message: string, ...kinds: string[]): Check =>
  (value, place, mistakes) => {
    if (kindOf(value) === "directive" && kinds.includes("directive"))
      checkValue(value, place, mistakes);
    else if (!kinds.includes(kindOf(value))) report(mistakes, place, message, { it: value });
  };

const text = oneOfKinds("This must be a text", "string");
const textOrDirective = oneOfKinds("This must be a text or a directive", "string", "directive");
const yesOrNo = oneOfKinds("This must be true or false", "boolean");
const array = oneOfKinds("This must be an array", "array");
/** A plain value is as it is; what an object contains was looked at, or is not. */
const any: Check = (value, place, mistakes) => {
  if (kindOf(value) === "directive") checkValue(value, place, mistakes);
};
const objectOrDirective: Check = (value, place, mistakes) => {
  const kind = kindOf(value);
  if (kind === "object" || kind === "directive") checkValue(value, place, mistakes);
  else report(mistakes, place, "This must be an object or a directive", { it: value });
};

const textOfLength =
  (min: number, max: number): Check =>
  (value, place, mistakes) => {
    text(value, place, mistakes);
    if (typeof value !== "string" || (value.length >= min && value.length <= max)) return;
    report(mistakes, place, `This must have ${min} to ${max} characters`);
  };

const oneOf =
  (...allowed: string[]): Check =>
  (value, place, mistakes) => {
    text(value, place, mistakes);
    if (typeof value !== "string" || allowed.includes(value.toLowerCase())) return;
    report(mistakes, place, `This must be ${allowed.map((each) => `"${each}"`).join(" or ")}`);
  };

const fields =
  (expected: Fields): Check =>
  (value, place, mistakes) => {
    if (kindOf(value) !== "object")
      return report(mistakes, place, "This must be an object", { it: value });
    const before = mistakes.length;
    checkValue(value, place, mistakes);
    if (mistakes.length > before) return;
    const members = value as Record<string, unknown>;
    for (const [key, { required, optional }] of Object.entries(expected)) {
      if (members[key] !== undefined)
        (required ?? optional)!(members[key], [...place, key], mistakes);
      else if (required !== undefined) report(mistakes, place, `"${key}" is missing`);
    }
  };

const directives: ReadonlyMap<string, Check> = new Map<string, Check>([
  ["@path", textOrDirective],
  ["@template", textOrDirective],
  ["@literal", any],
  ["@excludeWhenNull", any],
  // Its members are any values.
  ["@if", fields({})],
  ["@case", fields({ operator: { optional: text }, value: { optional: textOrDirective } })],
  [
    "@replace",
    fields({
      pattern: { required: textOfLength(1, maxPatternLength) },
      replacement: { optional: textOfLength(0, maxPatternLength) },
      value: { required: textOrDirective },
      ignorecase: { optional: yesOrNo },
      global: { optional: yesOrNo },
    }),
  ],
  [
    "@arrayPath",
    (value, place, mistakes) => {
      if (!Array.isArray(value)) return array(value, place, mistakes);
      textOrDirective(value[0], [...place, "0"], mistakes);
      checkValue(value[1], [...place, "1"], mistakes);
    },
  ],
  ["@json", fields({ value: { required: any }, mode: { required: oneOf("encode", "decode") } })],
  ["@flatten", fields({ separator: { optional: text }, value: { required: any } })],
  [
    "@merge",
    (value, place, mistakes) => {
      const before = mistakes.length;
      fields({
        direction: { optional: oneOf("left", "right") },
        objects: { required: array },
      })(value, place, mistakes);
      if (mistakes.length > before) return;
      const { objects } = value as { objects: unknown[] };
      for (const [index, part] of objects.entries())
        objectOrDirective(part, [...place, "objects", String(index)], mistakes);
    },
  ],
  [
    "@transform",
    fields({ apply: { required: objectOrDirective }, mapping: { required: objectOrDirective } }),
  ],
]);
