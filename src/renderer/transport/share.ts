/** The transport of a share file: it answers from what was recorded, and nothing ever changes. */

import { embeddedShareId, readShare } from "../../contract/share.ts";
import { isProblem, type Problem } from "../../domain/problem.ts";
import { useToast } from "../kit/copy.tsx";
import { CallError, type Transport } from "./transport.ts";

/** The share file that this page holds, or null in every other page. */
export function embeddedShare(): Promise<string> | null {
  const element = document.getElementById(embeddedShareId);
  if (element === null) return null;
  const text = element.textContent ?? "";
  element.remove();
  return decompressed(new Blob([Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0))]));
}

async function decompressed(file: Blob): Promise<string> {
  return new Response(file.stream().pipeThrough(new DecompressionStream("gzip"))).text();
}

export function createShareTransport(lines: Promise<string>): Transport {
  const share = lines.then(readShare);
  const fail = ({ status, code, message }: Omit<Problem, "problem">): never => {
    throw new CallError({ status, code, message });
  };
  return {
    async call(name, input) {
      const read = await share;
      if (isProblem(read)) return fail(read);
      const { status, body } = read.call(name, input);
      if (status >= 400) fail({ status, ...(body as { code: string; message: string }) });
      return body as never;
    },
    watch(watcher) {
      watcher.onConnection("connected");
      return () => undefined;
    },
  };
}

/** A share file that is dropped anywhere on the page is opened in its place. */
export function openDroppedShares(open: (name: string, lines: string) => void): void {
  window.addEventListener("dragover", (event) => {
    if (event.dataTransfer?.types.includes("Files") === true) event.preventDefault();
  });
  window.addEventListener("drop", (event) => {
    const file = [...(event.dataTransfer?.files ?? [])].find(({ name }) =>
      name.endsWith(".hookyard"),
    );
    if (file === undefined || event.defaultPrevented) return;
    event.preventDefault();
    void decompressed(file)
      .catch(() => "")
      .then((lines) => {
        const share = readShare(lines);
        if (isProblem(share)) useToast.getState().showError(`${file.name}: ${share.message}`);
        else open(`${file.name} ${share.head.savedAt}`, lines);
      });
  });
}
