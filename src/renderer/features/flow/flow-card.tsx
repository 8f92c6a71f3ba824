/** On a loom: one source or destination alone, with its rates and shares. */

import { IconButton } from "../../kit/controls.tsx";
import { count, some } from "../../kit/words.ts";
import { type FlowModel, type FlowLine, rateWords } from "./flow-model.ts";
import { destinationHref, lineHref, originHref } from "./flow-places.ts";

export function FlowCard({
  model,
  id,
  onClose,
}: {
  model: FlowModel;
  id: string;
  onClose: () => void;
}) {
  const destination = model.destinations.find((each) => each.id === id);
  const origin = model.origins.find((each) => each.id === id);
  const lines =
    destination?.lines ??
    model.destinations.flatMap((each) => each.lines.filter(({ from }) => from === id));
  const name = destination?.name ?? origin?.name ?? "";
  const total = lines.reduce((sum, line) => sum + line.count, 0);
  return (
    <section className="flow-card" aria-label={name}>
      <div className="line">
        <h2 className="clip">{name}</h2>
        <span className="grow" />
        <IconButton small icon="close" label="Show all" shortcut="Esc" onClick={onClose} />
      </div>
      <div className="flow-card-lines">
        <table>
          <thead>
            <tr>
              <th scope="col">{destination === undefined ? "to" : "from"}</th>
              <th scope="col" className="number">
                rate
              </th>
              <th scope="col">share</th>
            </tr>
          </thead>
          <tbody>
            {lines.map((line) => (
              <Share key={line.key} line={line} total={total} isTo={destination === undefined} />
            ))}
          </tbody>
        </table>
      </div>
      {destination?.webhooks.map(({ id: webhook, host, line, inFlight }) => (
        <p key={webhook}>
          <a className="link" href={lineHref(line)}>
            {host}
          </a>{" "}
          <span className={line.outcome === null ? "muted" : `tone ${line.outcome}`}>
            {line.words}
          </span>
          {inFlight === 0 ? "" : `, ${count(inFlight)} in flight`}
        </p>
      ))}
      {destination === undefined || destination.queued + destination.waiting === 0 ? null : (
        <p>
          {count(destination.waiting)} waiting, {count(destination.queued)} queued
        </p>
      )}
      <p>
        <a
          className="link"
          href={
            destination === undefined
              ? origin === undefined
                ? undefined
                : originHref(origin)
              : destinationHref(destination.id)
          }
        >
          Open {destination === undefined ? "the source" : "the destination"}
        </a>
      </p>
    </section>
  );
}

function Share({ line, total, isTo }: { line: FlowLine; total: number; isTo: boolean }) {
  const share = total === 0 ? 0 : (line.count / total) * 100;
  return (
    <tr>
      <td>
        <a className="link" href={lineHref(line)} title={some(line.count, "message")}>
          {isTo ? line.toName : line.fromName}
        </a>
      </td>
      <td className="number">
        <code>{rateWords(line.perSecond)}</code>
      </td>
      <td>
        <span className="share" style={{ width: `${share * 0.72}px` }} /> {Math.round(share)} %
      </td>
    </tr>
  );
}
