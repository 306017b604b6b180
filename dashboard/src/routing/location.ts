import { useEffect, useState } from "preact/hooks";
import { keepPlace } from "./kept-place.ts";

const moved = new EventTarget();

/** Navigates to a path below the page's own, with its query. */
export function navigate(href: string, { replace = false } = {}): void {
  if (replace) history.replaceState(null, "", href);
  else {
    keepPlace();
    const { pathname } = location;
    history.pushState(null, "", href);
    if (location.pathname !== pathname) scrollTo(0, 0);
  }
  moved.dispatchEvent(new Event("move"));
}

export interface Place {
  /** Below the page's own path, such as `/tasks/0123`. */
  readonly path: string;
  readonly query: URLSearchParams;
}

function placeNow(base: string): Place {
  const { pathname, search } = location;
  return { path: pathname.slice(base.length) || "/", query: new URLSearchParams(search) };
}

export function usePlace(base: string): Place {
  const [place, setPlace] = useState(() => placeNow(base));
  useEffect(() => {
    const update = (): void => setPlace(placeNow(base));
    window.addEventListener("popstate", update);
    moved.addEventListener("move", update);
    return () => {
      window.removeEventListener("popstate", update);
      moved.removeEventListener("move", update);
    };
  }, [base]);
  return place;
}
