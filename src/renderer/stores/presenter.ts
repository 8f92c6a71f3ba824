/** Presenter mode: large type for a projector, and no secrets on the screen. */

import { create } from "zustand";
import { orToast } from "../kit/copy.tsx";
import { errorOf } from "../kit/use-action.ts";
import { callUnmasked } from "../transport/transport.ts";
import { hideSecrets, masked } from "../transport/secrets.ts";

type PresenterStore = {
  isOn: boolean;
  /** Stays as it is, and rejects, when the secrets cannot be read. */
  set(on: boolean): Promise<void>;
  toggle(): void;
};

/** What was asked for last: a second press does not wait for the first. */
let asked = { on: false };

export const usePresenter = create<PresenterStore>()((set, get) => ({
  isOn: false,
  async set(on) {
    const mine = { on };
    asked = mine;
    const secrets = on ? await readSecrets() : null;
    if (asked !== mine) return;
    if (secrets instanceof Error) {
      asked = { on: get().isOn };
      throw secrets;
    }
    hideSecrets(on);
    // They are known before anything is shown again.
    masked(secrets);
    if (on) document.documentElement.dataset["presenter"] = "";
    else delete document.documentElement.dataset["presenter"];
    set({ isOn: on });
  },
  toggle: () => void orToast(() => get().set(!asked.on)),
}));

const readSecrets = (): Promise<unknown> =>
  Promise.all([callUnmasked("sources.list", {}), callUnmasked("unknownKeys.list", {})]).catch(
    errorOf,
  );
