import type { ComponentChildren, JSX } from "preact";
import { useServices } from "../api/services.ts";
import { navigate } from "./location.ts";

interface LinkProps {
  /** Below the page's own path. */
  readonly to: string;
  readonly children: ComponentChildren;
  readonly class?: string;
  readonly current?: boolean;
}

/** A link within the page. Works like any link, for example in a new tab. */
export function Link({ to, children, current = false, ...others }: LinkProps): JSX.Element {
  const { base } = useServices();
  const href = `${base}${to}`;
  const follow = (event: MouseEvent): void => {
    if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    navigate(href);
  };
  return (
    <a {...others} href={href} onClick={follow} {...(current && { "aria-current": "page" as const })}>
      {children}
    </a>
  );
}
