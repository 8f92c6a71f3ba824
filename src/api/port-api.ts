/**
 * The control API for one message port: takes its messages, calls the API, sends answers and
 * changes back. The desktop host makes one per port. It knows no port: whoever has one gives it a
 * `send`.
 */

import type { MessageToHost, MessageToPage } from "../contract/port-messages.ts";
import type { Api } from "./api.ts";

type PortApi = {
  /** Anything that arrives; what is not a message is dropped, because there is nobody to answer. */
  receive(data: unknown): void;
  /**
   * The port is closed: nothing more is sent, and an advance of the clock that was requested over
   * it ends.
   */
  end(): void;
};

export function createPortApi({
  api: own,
  send,
}: {
  api: Pick<Api, "call" | "changes" | "beside">;
  send: (text: string) => void;
}): PortApi {
  const watches = new Map<number, () => void>();
  const open = new AbortController();

  const answer = (message: MessageToPage): void => {
    if (!open.signal.aborted) send(JSON.stringify(message));
  };

  const apiOf = (beside: string | undefined): Pick<Api, "call" | "changes"> | undefined =>
    beside === undefined ? own : own.beside(beside);

  function watch(id: number, after: number | null, api: Pick<Api, "changes">): void {
    watches.get(id)?.();
    const missed = after === null ? [] : api.changes.since(after);
    watches.set(
      id,
      api.changes.subscribe((changes) =>
        answer({
          watch: id,
          sequence: api.changes.sequence(),
          changes,
        }),
      ),
    );
    answer({ watch: id, sequence: api.changes.sequence(), changes: missed });
  }

  return {
    receive(data) {
      const message = open.signal.aborted ? null : messageOf(data);
      if (message === null) return;
      if ("id" in message) {
        const { id } = message;
        const api = apiOf(message.beside);
        if (api === undefined) return answer({ id, status: 404, body: goneBeside });
        void api
          .call(message.name, message.input, open.signal)
          .then(({ status, body }) => answer({ id, status, body }));
      } else if ("watch" in message) {
        watch(message.watch, message.after, apiOf(message.beside) ?? own);
      } else {
        watches.get(message.unwatch)?.();
        watches.delete(message.unwatch);
      }
    },
    end() {
      open.abort();
      for (const unsubscribe of watches.values()) unsubscribe();
    },
  };
}

const goneBeside = {
  code: "not_found",
  message: "The pipeline that this page shows is no longer there. Reload the page.",
};

function messageOf(data: unknown): MessageToHost | null {
  const message = parsed(data);
  if (typeof message !== "object" || message === null) return null;
  const { id, name, input, watch, after, unwatch, beside } = message as Record<string, unknown>;
  const where = typeof beside === "string" ? { beside } : {};
  if (typeof id === "number" && typeof name === "string") return { id, name, input, ...where };
  if (typeof watch === "number" && (after === null || typeof after === "number"))
    return { watch, after, ...where };
  if (typeof unwatch === "number") return { unwatch };
  return null;
}

function parsed(data: unknown): unknown {
  try {
    return typeof data === "string" ? (JSON.parse(data) as unknown) : null;
  } catch {
    return null;
  }
}
