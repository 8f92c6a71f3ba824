/** Questions about nodes of a syntax tree. */

export type Node = { type: string; start: number; end: number; [member: string]: unknown };

export function withinOf(node: Node, within: string): string {
  const { type } = node;
  const named = node["id"] ?? node["key"];
  const names =
    /^(ClassDeclaration|FunctionDeclaration|MethodDefinition|PropertyDefinition|VariableDeclarator)$/.test(
      type,
    );
  if (!names || !isNode(named)) return within;
  const name = named.type === "PrivateIdentifier" ? `#${String(named["name"])}` : named["name"];
  if (typeof name !== "string") return within;
  return within === "" ? name : `${within}.${name}`;
}

const answered =
  /^(map|flatMap|filter|some|every|find|findLast|findIndex|sort|toSorted|reduce|groupBy|from|fromEntries)$/;

export function callsForAnswers({ type, callee }: Node): boolean {
  return (
    type === "CallExpression" &&
    isNode(callee) &&
    isNode(callee["property"]) &&
    answered.test(String(callee["property"]["name"]))
  );
}

/** Whether a function with this body returns a value, not counting functions within. */
export function answersValue(node: Node): boolean {
  if (node.type === "ReturnStatement") return isNode(node["argument"]);
  if (/Function|^Class/.test(node.type)) return false;
  return Object.values(node).some((value) =>
    (Array.isArray(value) ? value : [value]).some((child) => isNode(child) && answersValue(child)),
  );
}

/** The part of a chain that stands before a link. */
export function next(link: Node): Node | undefined {
  return (link["object"] ??
    link["callee"] ??
    (link.type === "TSNonNullExpression" ? link["expression"] : undefined)) as Node | undefined;
}

export function bare(node: Node): Node {
  return node.type === "ParenthesizedExpression" ? bare(node["expression"] as Node) : node;
}

export function isText(node: Node): boolean {
  const { type } = bare(node);
  if (type === "BinaryExpression")
    return isText(bare(node)["left"] as Node) || isText(bare(node)["right"] as Node);
  return (
    type === "TemplateLiteral" || (type === "Literal" && typeof bare(node)["value"] === "string")
  );
}

export function isNode(value: unknown): value is Node {
  return (
    typeof value === "object" &&
    value !== null &&
    typeof (value as Node).type === "string" &&
    typeof (value as Node).start === "number"
  );
}
