import { unmasked } from "../transport/secrets.ts";

/** Hands a text or bytes to the browser as a file. It has what is hidden on the screen meanwhile. */
export function saveFile(name: string, content: BlobPart, type = "application/yaml"): void {
  const url = URL.createObjectURL(
    new Blob([typeof content === "string" ? unmasked(content) : content], { type }),
  );
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  window.setTimeout(() => URL.revokeObjectURL(url), 0);
}
