/** What to do when a port is taken: the user decides once, for all ports of this start. */

import { dialog } from "electron";
import { PortTaken } from "../app-errors.ts";
import type { ServePorts } from "../headless/serve-flags.ts";

type Startable = { start(): Promise<unknown>; stop(): Promise<void> };

/** Creates and starts an app on these ports. Returns null when the user prefers to quit. */
export async function startOnPorts<Hosted extends Startable>({
  ports,
  createApp,
  report,
}: {
  ports: ServePorts;
  createApp: (ports: ServePorts) => Hosted;
  report: (error: unknown) => void;
}): Promise<Hosted | null> {
  const wanted = { ...ports };
  let mayUseFree = false;
  for (;;) {
    const app = createApp(wanted);
    try {
      await app.start();
      return app;
    } catch (error) {
      await app.stop().catch(report);
      if (!(error instanceof PortTaken) || wanted[error.role] === 0) throw error;
      mayUseFree ||= await askForFreePorts(error);
      if (!mayUseFree) return null;
      wanted[error.role] = 0;
    }
  }
}

async function askForFreePorts({ message, port }: PortTaken): Promise<boolean> {
  const { response } = await dialog.showMessageBox({
    type: "warning",
    title: "Hookyard",
    message,
    detail: `Another Hookyard may be running. This one can use free ports instead: client libraries that send to port ${port} then do not reach it.`,
    buttons: ["Use Free Ports", "Quit"],
    defaultId: 0,
    cancelId: 1,
    noLink: true,
  });
  return response === 0;
}
