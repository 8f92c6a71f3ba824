import { lacksToken } from "../transport/call-error.ts";
import { StateGlyph } from "./glyph.tsx";

/** An error is a sentence where it happened, with what to do. */
export function ProblemText({ error }: { error: Error | null }) {
  if (error === null || lacksToken(error)) return null;
  return (
    <div className="problem" role="alert">
      <StateGlyph state="failed" />
      <span>{error.message}</span>
    </div>
  );
}
