/** The first line and the headers of a recorded request or response, names and order as they were on the wire. */

type Head = { startLine: string; headers: [string, string][] };

export function parseHead(head: string): Head {
  const [startLine = "", ...lines] = head.split(/\r?\n/);
  const headers: [string, string][] = [];
  for (const line of lines) {
    const last = headers.at(-1);
    if (line === "") continue;
    // A line that begins with white space goes on with the header above it.
    if (/^[ \t]/.test(line) && last !== undefined) {
      last[1] = `${last[1]} ${line.trim()}`.trim();
      continue;
    }
    const colon = line.indexOf(":");
    if (colon === -1) headers.push([line, ""]);
    else headers.push([line.slice(0, colon), line.slice(colon + 1).replace(/^[ \t]+|[ \t]+$/g, "")]);
  }
  return { startLine, headers };
}
