/** Presenter mode: large type for a projector, and no secrets on the screen. */

import { create } from "zustand";
import { call } from "../transport/transport.ts";
import { hideSecrets } from "../transport/secrets.ts";

type PresenterStore = { isOn: boolean; set(on: boolean): Promise<void>; toggle(): void };

export const usePresenter = create<PresenterStore>()((set, get) => ({
  isOn: false,
  async set(on) {
    hideSecrets(on);
    // They are known before anything else is shown again.
    if (on) await Promise.all([call("sources.list", {}), call("unknownKeys.list", {})]);
    if (on) document.documentElement.dataset["presenter"] = "";
    else delete document.documentElement.dataset["presenter"];
    set({ isOn: on });
  },
  toggle: () => void get().set(!get().isOn),
}));
