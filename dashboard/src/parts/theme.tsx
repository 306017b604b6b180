import type { JSX } from "preact";
import { useState } from "preact/hooks";

const themes = ["system", "light", "dark"] as const;
type Theme = (typeof themes)[number];

/** The key of the choice, which is stored only in this browser. */
const item = "holdfast-theme";

function chosen(): Theme {
  const kept = localStorage.getItem(item);
  return themes.find((theme) => theme === kept) ?? "system";
}

function show(theme: Theme): void {
  if (theme === "system") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = theme;
}

/** Shows the page in the theme that was chosen before. */
export function keepTheme(): void {
  show(chosen());
}

export function ThemeButton(): JSX.Element {
  const [theme, setTheme] = useState(chosen);
  const change = (): void => {
    const next = themes[(themes.indexOf(theme) + 1) % themes.length] ?? "system";
    localStorage.setItem(item, next);
    show(next);
    setTheme(next);
  };
  return (
    <button type="button" class="quiet" onClick={change}>
      Theme: {theme}
    </button>
  );
}
