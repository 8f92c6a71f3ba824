/** The transport of a share file: it answers from what was recorded, and nothing ever changes. */

import { damaged, embeddedShareId, maxShareBytes, tooLarge } from "../../contract/share-limits.ts";
import type { readShare as ReadShare } from "../../contract/share.ts";
import { isProblem, type Problem } from "../../domain/problem.ts";
import { useToast } from "../kit/copy.tsx";
import type { Transport } from "./transport.ts";
import { CallError } from "./call-error.ts";

/** It brings the schemas of the contract, which nothing else on the page needs. */
async function readLines(lines: string): Promise<ReturnType<typeof ReadShare>> {
  const { readShare } = await import("../../contract/share.ts");
  return readShare(lines);
}

/** The share file that this page holds, or null in every other page. */
export function embeddedShare(): Promise<string> | null {
  const element = document.getElementById(embeddedShareId);
  if (element === null) return null;
  const text = element.textContent ?? "";
  element.remove();
  return decompressed(new Blob([Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0))]));
}

class TooLarge extends Error {}

async function decompressed(file: Blob): Promise<string> {
  let size = 0;
  const counted = new TransformStream<Uint8Array, Uint8Array>({
    transform(part, to) {
      size += part.length;
      if (size > maxShareBytes) to.error(new TooLarge());
      else to.enqueue(part);
    },
  });
  const bytes = file.stream().pipeThrough(new DecompressionStream("gzip")).pipeThrough(counted);
  return new Response(bytes).text();
}

export function createShareTransport(lines: Promise<string>): Transport {
  const share = lines.then(readLines);
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
      .catch(async (error: unknown) => {
        if (error instanceof TooLarge) return tooLarge;
        const [first, second] = new Uint8Array(await file.slice(0, 2).arrayBuffer());
        return first === 0x1f && second === 0x8b ? damaged("it cannot be decompressed") : "";
      })
      .then(async (lines) => {
        const share = typeof lines === "string" ? await readLines(lines) : lines;
        if (isProblem(share)) useToast.getState().showError(`${file.name}: ${share.message}`);
        else if (typeof lines === "string") open(`${file.name} ${share.head.savedAt}`, lines);
      });
  });
}
