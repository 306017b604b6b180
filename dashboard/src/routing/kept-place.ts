/** Where the reader is on a page, kept with its entry of the browser's history: "back" and a reload lead there again. */
interface KeptPlace {
  /** How far the page is scrolled (px). */
  readonly y: number;
  /** The link that had the focus: the row that was opened. */
  readonly link: string | null;
}

/** For what is still loading (ms). */
const patienceMs = 10_000;

const interruptions = ["wheel", "touchstart", "pointerdown", "keydown"] as const;

/** Ends a return that is under way. Until then the page is too short for its place, which must not be overwritten by where it is now. */
let stopReturning: (() => void) | undefined;

/** Pages are loaded after the browser has gone back to them, so it cannot scroll to where they were. */
export function keepPlaces(): void {
  history.scrollRestoration = "manual";
  addEventListener("scrollend", keepPlace);
  addEventListener("pagehide", keepPlace);
  addEventListener("popstate", returnToPlace);
  returnToPlace();
}

/** Before the page is left. */
export function keepPlace(): void {
  if (stopReturning !== undefined) return;
  const { activeElement } = document;
  const link = activeElement instanceof HTMLAnchorElement ? activeElement.getAttribute("href") : null;
  history.replaceState({ y: scrollY, link } satisfies KeptPlace, "");
}

/** Scrolls as the page grows, until the reader does something. */
function returnToPlace(): void {
  stopReturning?.();
  const { y = 0, link = null } = (history.state ?? {}) as Partial<KeptPlace>;
  scrollTo(0, y);
  if (y === 0 && link === null) return;
  let isFocused = false;
  const look = (): void => {
    scrollTo(0, y);
    if (link === null) return;
    const found = document.querySelector<HTMLAnchorElement>(`main a[href="${CSS.escape(link)}"]`);
    if (!isFocused) found?.focus({ preventScroll: true });
    isFocused ||= found !== null;
    found?.scrollIntoView({ block: "nearest" }); // in a list that has changed since, it is elsewhere
  };
  const growth = new ResizeObserver(look);
  const stop = (): void => {
    growth.disconnect();
    clearTimeout(timer);
    for (const name of interruptions) removeEventListener(name, stop);
    stopReturning = undefined;
  };
  const timer = setTimeout(stop, patienceMs);
  stopReturning = stop;
  growth.observe(document.body);
  for (const name of interruptions) addEventListener(name, stop);
}
