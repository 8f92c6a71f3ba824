/** The `?` overlay: every key, by where it works. */

import { Dialog } from "../../kit/floats.tsx";
import { shortcuts } from "../../stores/keys.ts";
import { useOverlay } from "./overlay.ts";
import "./commands.css";

export function Shortcuts() {
  const { shown, hide } = useOverlay();
  const places = [...new Set(shortcuts.map(({ where }) => where))];
  return (
    <Dialog open={shown === "shortcuts"} onClose={hide} title="Shortcuts" wide>
      <div className="shortcuts">
        {places.map((place) => (
          <section key={place} aria-label={place}>
            <h3>{place}</h3>
            <dl>
              {shortcuts
                .filter(({ where }) => where === place)
                .map(({ keys, does }) => (
                  <div key={does}>
                    <dt>
                      {keys.map((key) => (
                        <kbd key={key}>{key}</kbd>
                      ))}
                    </dt>
                    <dd>{does}</dd>
                  </div>
                ))}
            </dl>
          </section>
        ))}
      </div>
      <p className="quiet shortcuts-note">Single keys do nothing while a field, a menu or a dialog has the focus.</p>
    </Dialog>
  );
}
