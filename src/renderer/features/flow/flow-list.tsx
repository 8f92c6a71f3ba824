/** The map as a table: a row for each of its lines, in its order, with the same figures and words. */

import { OutcomeGlyph } from "../../kit/glyph.tsx";
import { count } from "../../kit/words.ts";
import { type FlowModel, linesOf, rateWords } from "./flow-model.ts";
import { lineHref, originHref } from "./flow-places.ts";

export function FlowList({ model }: { model: FlowModel }) {
  const people = model.origins.filter(({ size }) => size !== null);
  return (
    <div className="flow-list">
      <table aria-label="Lines of the flow">
        <thead>
          <tr>
            <th scope="col">from</th>
            <th scope="col">to</th>
            <th scope="col" className="number">
              rate
            </th>
            <th scope="col" className="number">
              count
            </th>
            <th scope="col">state</th>
          </tr>
        </thead>
        <tbody>
          {people.map((person) => (
            <tr key={person.id}>
              <td className="strong">Profiles</td>
              <td>
                <a href={originHref(person)}>{person.name}</a>
              </td>
              <td />
              <td className="number">
                <code>{count(person.size ?? 0)} in</code>
              </td>
              <td />
            </tr>
          ))}
          {linesOf(model).map((line) => (
            <tr key={line.key} data-state={line.state}>
              <td className="strong">{line.fromName}</td>
              <td>
                <a href={lineHref(line)}>{line.toName}</a>
              </td>
              <td className="number">
                <code>{rateWords(line.perSecond)}</code>
              </td>
              <td className="number">
                <code>{count(line.count)}</code>
              </td>
              <td>
                <span className={line.outcome === null ? "calm" : `tone ${line.outcome}`}>
                  {line.outcome === null ? null : <OutcomeGlyph outcome={line.outcome} />}
                  {line.words}
                </span>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
