import { useEffect } from "preact/hooks";

/** What the browser's tab is called. */
export function usePageTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · Holdfast`;
  }, [title]);
}
