import { posix } from "node:path";

/** The anchor of a heading as GitHub names it, so that one link works there and on the site. */
export function anchorOf(title: string): string {
  return title
    .replace(/\[([^\]]*)\]\([^)]*\)/g, "$1")
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, "")
    .replaceAll(" ", "-");
}

/**
 * Where a link of a page goes that leaves `docs/`, as a path in the repository, or undefined if it stays. The site has such files as plain
 * text beside its pages.
 * @param page - Its path in `docs/`
 */
export function fileOutside(page: string, link: string): string | undefined {
  if (/^([a-z]+:|#|\/)/.test(link)) return undefined;
  const path = posix.join("docs", posix.dirname(page), link.replace(/#.*/, ""));
  return path.startsWith("docs/") ? undefined : path;
}
