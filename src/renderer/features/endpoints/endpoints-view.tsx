/** Test endpoints: the list and its presets, one endpoint's addresses and program, and what it received. */

import { useMemo } from "react";
import { Button, IconButton } from "../../kit/controls.tsx";
import { ListAndEditor, ListEntry, ListPane } from "../../kit/list-pane.tsx";
import { NothingHere } from "../../kit/nothing-here.tsx";
import { ProblemText } from "../../kit/problem.tsx";
import { useAction } from "../../kit/use-action.ts";
import { count } from "../../kit/words.ts";
import { useOffer, type Command } from "../../stores/commands.ts";
import { useLive, useOnce } from "../../stores/live-data.ts";
import { hashOf, openOf, usePlace } from "../../stores/place.ts";
import { EndpointEditor } from "./endpoint-editor.tsx";
import { useEndpointCommands } from "./endpoint-commands.ts";
import { printProgram } from "./program-text.ts";
import { ReceivedRequests } from "./received-requests.tsx";
import "./endpoints.css";
import "./program.css";
import "./received.css";
import "./track.css";

export function EndpointsView() {
  const { answer, error } = useLive("endpoints.list", {});
  const presets = useOnce("endpoints.presets", {}).answer?.items ?? [];
  const openId = usePlace((place) => place.path[0]);
  const { problem, run } = useAction();
  const { create } = useEndpointCommands(run);

  const commands = useMemo<readonly Command[]>(
    () => [{ id: "endpoints.new", label: "New test endpoint", icon: "endpoints", hint: "Test endpoints", run: () => create(null) }],
    [create],
  );
  useOffer("endpoints", commands);

  if (answer === undefined) return <ProblemText error={error} />;
  const endpoints = answer.items;
  const current = openOf(endpoints, openId);

  const list = (
    <ListPane
      title="Test endpoints"
      tools={<IconButton icon="add" label="New test endpoint" onClick={() => create(null)} />}
      footer={
        <section className="presets" aria-labelledby="presets-title">
          <h3 id="presets-title">New from a preset</h3>
          {presets.map((preset) => (
            <button
              key={preset.name}
              type="button"
              className="preset"
              title={`${preset.title}: ${printProgram(preset.steps)}`}
              onClick={() => create(preset)}
            >
              {preset.name.replaceAll("-", " ")}
            </button>
          ))}
        </section>
      }
    >
      {endpoints.map((endpoint) => (
        <ListEntry
          key={endpoint.id}
          href={hashOf({ view: "endpoints", path: [endpoint.id], query: {} })}
          isCurrent={endpoint === current}
          name={endpoint.name}
          aside={<span title="requests since it was set back">{count(endpoint.position.received)}</span>}
          detail={<code>{printProgram(endpoint.steps)}</code>}
        />
      ))}
    </ListPane>
  );

  if (current === undefined) {
    return (
      <ListAndEditor
        name="endpoints"
        title="Test endpoints"
        isEmpty
        list={list}
        editor={
          <NothingHere
            label="No test endpoint"
            title={openId === undefined ? "Make the first test endpoint" : "There is no such test endpoint"}
            action={{
              label: "Make one: 503 ×3 → 200",
              run: () => create(presets.find((preset) => preset.name === "503-three-times") ?? null),
            }}
            more={
              <>
                <Button onClick={() => create(null)}>One that always answers 200</Button>
                <span className="muted">or take a preset from the list</span>
              </>
            }
            error={problem}
          >
            A test endpoint is a receiver inside Hookyard that answers as you program it: 503 three times, then 200; nothing for longer than
            five seconds; a reset; a bad certificate. Point a webhook at it, or any other program, and see every byte that arrives.
          </NothingHere>
        }
      />
    );
  }
  return (
    <ListAndEditor
      name="endpoints"
      title="Test endpoints"
      list={list}
      editor={<EndpointEditor key={current.id} endpoint={current} endpoints={endpoints} presets={presets} problem={problem} onRun={run} />}
      evidence={{ label: "Received requests", content: <ReceivedRequests key={current.id} endpoint={current} /> }}
    />
  );
}
