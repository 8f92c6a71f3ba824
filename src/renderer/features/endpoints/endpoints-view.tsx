/** Test endpoints: the list and its presets, one endpoint's addresses and program, and what it received. */

import { useMemo } from "react";
import { Button, IconButton } from "../../kit/controls.tsx";
import { ListAndEditor, ListEntry, ListPane } from "../../kit/list-pane.tsx";
import { EmptyState } from "../../kit/empty-state.tsx";
import { ProblemText } from "../../kit/problem.tsx";
import { useAction } from "../../kit/use-action.ts";
import { count } from "../../kit/words.ts";
import { type Command, useOffer } from "../../stores/commands.ts";
import { useLive, useOnce } from "../../stores/live-data.ts";
import { hashOf, openOf, usePlace } from "../../stores/place.ts";
import { EndpointEditor, useEndpointCommands } from "./endpoint-editor.tsx";
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
          aside={<span title="requests since the last rewind">{count(endpoint.position.received)}</span>}
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
          <EmptyState
            label="No test endpoint"
            title={openId === undefined ? "Create the first test endpoint" : "Test endpoint not found"}
            action={{
              label: "Create one: 503 ×3 → 200",
              run: () => create(presets.find((preset) => preset.name === "503-three-times") ?? null),
            }}
            more={
              <>
                <Button onClick={() => create(null)}>Create one that always answers 200</Button>
                <span className="muted">or use a preset from the list</span>
              </>
            }
            error={problem}
          >
            A test endpoint is a receiver inside Hookyard that answers as you program it: 503 three times, then 200; no response for more
            than five seconds; a reset; a bad certificate. Point a webhook at it, or any other program, and see every byte that arrives.
          </EmptyState>
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
