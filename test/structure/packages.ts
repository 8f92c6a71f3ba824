/** The page that gives each dependency its reason, held to the manifest. */

const page = "docs/decisions/0012-dependencies.md";

type Dependencies = Partial<
  Record<"dependencies" | "optionalDependencies" | "devDependencies", Record<string, string>>
>;

export function packageFindings(
  { dependencies = {}, optionalDependencies = {}, devDependencies = {} }: Dependencies,
  text: string,
): string[] {
  const names = Object.keys({ ...dependencies, ...optionalDependencies, ...devDependencies });
  const reasons = new Map(
    [...text.matchAll(/^\| `([^`]+)` +\| +(.*?) *\|$/gm)].map(([, name = "", reason = ""]) => [
      name,
      reason,
    ]),
  );
  return [
    ...names
      .filter((name) => (reasons.get(name) ?? "") === "")
      .map((name) => `package.json: ${name} has no reason in ${page}.`),
    ...[...reasons.keys()]
      .filter((name) => !names.includes(name))
      .map((name) => `${page}: ${name} is not in package.json.`),
  ];
}
