import { useEffect } from "preact/hooks";

/** The title of the browser's tab. */
export function usePageTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · Holdfast`;
  }, [title]);
}
