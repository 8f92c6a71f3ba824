/**
 * The demo from anywhere: opened, closed, and reset with the clock in one action. The palette, the
 * settings and the first page use the same three.
 */

import { ConfirmDialog } from "../../kit/confirm-dialog.tsx";
import { Button } from "../../kit/controls.tsx";
import { ProblemText } from "../../kit/problem.tsx";
import { useAction } from "../../kit/use-action.ts";
import { some } from "../../kit/words.ts";
import { type Command, useOffer, useOverlay } from "../../stores/commands.ts";
import { useLive, useOnce } from "../../stores/live-data.ts";
import { openStory } from "../../stores/story.ts";
import { goOnceAnswered } from "../../stores/place.ts";
import { resetEverything } from "../../stores/undo.ts";
import { call } from "../../transport/transport.ts";

export const openDemo = (): Promise<void> =>
  goOnceAnswered(call("workspaces.open", { kind: "demo" }), () => ({ view: "live" }));

async function resetDemo(): Promise<void> {
  await resetEverything(true);
  await openDemo();
}

const closed: readonly Command[] = [
  { id: "demo.open", label: "Open the demo", icon: "forward", run: openDemo },
];
const open: readonly Command[] = [
  {
    id: "demo.close",
    label: "Close the demo",
    icon: "close",
    run: () => call("workspaces.close", {}),
  },
];
const always: readonly Command[] = [
  {
    id: "demo.reset",
    label: "Reset the demo and the clock…",
    icon: "retries",
    run: () => useOverlay.getState().show("demo"),
  },
];

/** Offers the commands, and asks before a reset. */
export function Demo() {
  const isOpen = useLive("workspaces.get", {}).answer?.demo === true;
  const asks = useOverlay((overlay) => overlay.shown === "demo");
  const stories = useOnce("scenarios.list", {}).answer?.items ?? [];
  useOffer(
    "Demo and stories",
    [
      ...(isOpen ? open : closed),
      ...always,
      ...stories.flatMap(({ file, name, scenes }): Command[] =>
        scenes === 0
          ? []
          : [
              {
                id: `story.${file}`,
                label: `Play the story ${name.replace(/^Story: /, "")}`,
                icon: "show",
                run: () => void openStory({ file }),
              },
            ],
      ),
    ],
    "all",
  );
  return asks ? <ResetDialog /> : null;
}

function ResetDialog() {
  const messages = useLive("stats.get", {}).answer?.messages.total ?? 0;
  const sources = useLive("sources.list", {}).answer?.items ?? [];
  const isOpen = useLive("workspaces.get", {}).answer?.demo === true;
  return (
    <ConfirmDialog
      open
      onClose={() => useOverlay.getState().hide()}
      title="Reset the demo and the clock?"
      action="Reset"
      onConfirm={resetDemo}
    >
      {some(messages, "message")} with all deliveries and {some(sources.length, "source")} with all
      destinations, test endpoints and audiences are permanently deleted
      {isOpen ? "" : ", your own too"}. Then the clock shows real time, and the demo opens as on its
      first day. Settings are kept.
    </ConfirmDialog>
  );
}

export function DemoSection() {
  const isOpen = useLive("workspaces.get", {}).answer?.demo === true;
  const { problem, run } = useAction();
  return (
    <>
      <div className="actions">
        {isOpen ? (
          <Button onClick={() => run("close", () => call("workspaces.close", {}))}>
            Close the demo
          </Button>
        ) : (
          <Button onClick={() => run("open", openDemo)}>Open the demo</Button>
        )}
        <Button onClick={() => useOverlay.getState().show("demo")}>
          Reset the demo and the clock…
        </Button>
      </div>
      <span className="labelled-hint">
        {isOpen
          ? "The shop sends until you close the demo, also after a restart. It is quiet while the clock is paused."
          : "A shop that sends by itself. It is stored next to your own data."}
      </span>
      <ProblemText error={problem} />
    </>
  );
}
