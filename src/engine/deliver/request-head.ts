/** The request line and headers of an exchange. */

import type { Target } from "./target.ts";

const legalName = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const legalValue = /^[\t\x20-\x7e\x80-\xff]*$/;

/** What would break the framing of the request; null when there is nothing. */
export function headProblem(headers: [string, string][]): string | null {
  for (const [name, value] of headers) {
    if (!legalName.test(name)) return `The header name ${JSON.stringify(name)} is not legal in HTTP.`;
    if (!legalValue.test(value)) return `The value of the header ${name} holds a character that is not legal in HTTP.`;
  }
  return null;
}

export function writeRequestHead(target: Target, headers: [string, string][], bodyLength: number): string {
  let head = target.opening;
  if (target.authorization !== "" && !headers.some(([name]) => name.toLowerCase() === "authorization")) head += target.authorization;
  for (const [name, value] of headers) head += `${name}: ${value}\r\n`;
  return `${head}Content-Length: ${bodyLength}\r\nConnection: keep-alive\r\n\r\n`;
}
