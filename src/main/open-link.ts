/** Links of the page that lead outside. The user sees the address before anything is opened; a page cannot open one by itself. */

import { dialog, shell } from "electron";

/** Long enough for any link that a person follows. A longer one is opened whole and shown in part. */
const shownLength = 500;

const trustedHosts = new Set<string>();
let isAsking = false;

/** Ignored for anything but http and https, and while another question is on the screen. */
export async function openLink(link: string): Promise<void> {
  const url = URL.parse(link);
  if (url === null || (url.protocol !== "http:" && url.protocol !== "https:") || isAsking) return;
  if (!trustedHosts.has(url.host) && !(await isWanted(url))) return;
  await shell.openExternal(url.href);
}

async function isWanted(url: URL): Promise<boolean> {
  isAsking = true;
  try {
    const { response, checkboxChecked } = await dialog.showMessageBox({
      type: "question",
      title: "Hookyard",
      message: `Open ${url.host} in your browser?`,
      detail: url.href.length > shownLength ? `${url.href.slice(0, shownLength)}…` : url.href,
      buttons: ["Open", "Cancel"],
      checkboxLabel: `Do not ask again for ${url.host} until Hookyard is closed`,
      defaultId: 1,
      cancelId: 1,
      noLink: true,
    });
    if (response === 0 && checkboxChecked) trustedHosts.add(url.host);
    return response === 0;
  } finally {
    isAsking = false;
  }
}
