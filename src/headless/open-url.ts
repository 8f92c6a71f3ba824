import { spawn } from "node:child_process";

/** Opens a URL in the browser. Where that is not possible, one sentence says so and everything goes on. */
export function openUrl(url: string, say: (sentence: string) => void): void {
  const [command, args]: [string, string[]] =
    process.platform === "darwin"
      ? ["open", [url]]
      : process.platform === "win32"
        ? ["rundll32", ["url.dll,FileProtocolHandler", url]]
        : ["xdg-open", [url]];
  const refuse = () => say("The browser could not be opened. Open the address above yourself.");
  const child = spawn(command, args, { stdio: "ignore", detached: true });
  child.on("error", refuse);
  child.on("exit", (code) => {
    if (code !== 0 && code !== null) refuse();
  });
  child.unref();
}
