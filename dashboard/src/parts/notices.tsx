import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";

interface Notice {
  readonly text: string;
  readonly isProblem: boolean;
}

const notices = new EventTarget();

/** Shows the result of an action, until the next one. */
export function notify(text: string, isProblem = false): void {
  notices.dispatchEvent(new CustomEvent<Notice>("notice", { detail: { text, isProblem } }));
}

/** Runs an action, and shows its result. */
export async function attempt<T>(
  act: () => Promise<T>,
  done: string | ((result: T) => string),
): Promise<T | undefined> {
  try {
    const result = await act();
    notify(typeof done === "string" ? done : done(result));
    return result;
  } catch (error) {
    notify(error instanceof Error ? error.message : String(error), true);
    return undefined;
  }
}

export function Notices(): JSX.Element {
  const [notice, setNotice] = useState<Notice>();
  useEffect(() => {
    const show = (event: Event): void => setNotice((event as CustomEvent<Notice>).detail);
    notices.addEventListener("notice", show);
    return () => notices.removeEventListener("notice", show);
  }, []);
  return (
    <div class="notices" aria-live="polite">
      {notice !== undefined && (
        <p class={notice.isProblem ? "notice problem" : "notice"}>
          {notice.text}
          <button type="button" class="quiet" onClick={() => setNotice(undefined)}>
            Dismiss
          </button>
        </p>
      )}
    </div>
  );
}
