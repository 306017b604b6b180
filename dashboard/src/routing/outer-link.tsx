import type { JSX } from "preact";
import { shownAddress, webAddress } from "../../../src/generation/web-address.ts";

/** An external link to a URL from data; plain text if the URL is not valid for a browser. */
export function OuterLink({
  url,
  children = shownAddress(url),
}: {
  readonly url: string;
  readonly children?: string;
}): JSX.Element {
  const href = webAddress(url)?.href;
  if (href === undefined) return <span>{children}</span>;
  return (
    <a href={href} target="_blank" rel="noopener noreferrer">
      {children}
    </a>
  );
}
