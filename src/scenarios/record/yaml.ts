import { Document, isCollection, isPair, isScalar, isSeq, visit } from "yaml";
import type { ScenarioInput } from "../file/scenario-schema.ts";

/** What fits into a line stands in one, as somebody would write it. */
const longestLine = 120;

export function scenarioYaml(scenario: ScenarioInput): string {
  const document = new Document(scenario, { aliasDuplicateObjects: false });
  visit(document, {
    Collection(_key, node, path) {
      const depth = path.filter(isCollection).length;
      if (depth >= 2 && !isListed(path) && JSON.stringify(node).length <= longestLine) node.flow = true;
    },
  });
  return document.toString({ lineWidth: 0 });
}

/** Steps and expectations stand below each other, however short they are. */
function isListed(path: readonly unknown[]): boolean {
  const pair = path.at(-2);
  return isSeq(path.at(-1)) && isPair(pair) && isScalar(pair.key) && (pair.key.value === "steps" || pair.key.value === "expect");
}
