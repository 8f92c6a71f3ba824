/** What a view's own failure leaves standing: the rest of the page, and a sentence in the view's place. */

import { Component, type ReactNode } from "react";
import { Button } from "./controls.tsx";
import { ProblemText } from "./problem.tsx";

type Props = { children: ReactNode };

export class FailureBoundary extends Component<Props, { error: Error | null }> {
  override state: { error: Error | null } = { error: null };

  static getDerivedStateFromError(error: Error): { error: Error } {
    return { error };
  }

  override render(): ReactNode {
    const { error } = this.state;
    if (error === null) return this.props.children;
    return (
      <section className="empty">
        <h1>This view failed</h1>
        <p className="muted">Nothing that was received or sent is lost. The other views go on.</p>
        <ProblemText error={error} />
        <Button onClick={() => this.setState({ error: null })}>Show it again</Button>
      </section>
    );
  }
}
