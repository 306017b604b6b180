import type { JSX } from "preact";
import { attempt } from "./notices.tsx";

/** Copies a text to the clipboard. */
export function CopyButton({ text, what }: { readonly text: string; readonly what: string }): JSX.Element {
  return (
    <button
      type="button"
      class="quiet small"
      aria-label={`Copy ${what}`}
      onClick={() => void attempt(() => copy(text), `Copied ${what}.`)}
    >
      Copy
    </button>
  );
}

async function copy(text: string): Promise<void> {
  // Browsers give no clipboard to pages loaded without TLS from another machine.
  if (window.isSecureContext) return navigator.clipboard.writeText(text);
  const area = document.createElement("textarea");
  area.value = text;
  document.body.append(area);
  area.select();
  const isCopied = document.execCommand("copy");
  area.remove();
  if (!isCopied) throw new Error("This browser cannot copy from pages served without HTTPS.");
}
