import type { JSX } from "preact";
import { httpUrl } from "./http-url.ts";

/** A link out of the page, by a URL that came with data; what is none for a browser is text. */
export function OuterLink({
  url,
  children = url,
}: {
  readonly url: string;
  readonly children?: string;
}): JSX.Element {
  const href = httpUrl(url);
  if (href === undefined) return <span>{children}</span>;
  return (
    <a href={href} target="_blank" rel="noopener noreferrer">
      {children}
    </a>
  );
}
