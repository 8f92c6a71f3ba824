/** Below the map before the first message: a call to copy, and the demo workspace. */

import { Button } from "../../kit/controls.tsx";
import { ProblemText } from "../../kit/problem.tsx";
import { call } from "../../transport/transport.ts";
import { FirstMessage, useFirstMessage } from "../welcome/first-message.tsx";

export function FlowStart() {
  const message = useFirstMessage();
  const { problem, run } = message;
  return (
    <div className="flow-start">
      <section aria-label="First message">
        <h2>No message yet. Send one and watch it move.</h2>
        <p className="muted lead">
          Your message becomes a mark on the line. It goes to the destination, is signed and POSTed
          to the webhook. Nothing leaves this machine.
        </p>
        <FirstMessage message={message} note="sends exactly this call" />
        <ProblemText error={problem} />
      </section>
      <aside aria-label="Demo workspace">
        <h3>Or see it running</h3>
        <p className="muted">A shop with its own traffic: sources, users, an audience, webhooks.</p>
        <Button
          onClick={() => run("open the demo", () => call("workspaces.open", { kind: "demo" }))}
        >
          Open the demo workspace
        </Button>
      </aside>
    </div>
  );
}
