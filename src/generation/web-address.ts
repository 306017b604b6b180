/** A URL that a user may visit: `http:` or `https:`; undefined for anything else, such as a script. Its host is in ASCII. */
export function webAddress(given: unknown): URL | undefined {
  const url = typeof given === "string" ? URL.parse(given) : null;
  return url?.protocol === "https:" || url?.protocol === "http:" ? url : undefined;
}

/**
 * A URL to visit, as it is shown. The host is in ASCII, since look-alike letters of other scripts would pass for another host; what is no
 * web address is named as such.
 */
export function shownAddress(given: string): string {
  return webAddress(given)?.href ?? `${given} (not a web address: do not open it)`;
}
