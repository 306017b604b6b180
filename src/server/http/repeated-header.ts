/** Of these there is one. A proxy may act by another of several than the server does. */
const single = ["host", "authorization", "origin", "content-type", "mcp-session-id", "mcp-protocol-version"];

/** The name of a header that is there more than once, of those of which there is one; `raw` is as `node:http` gives it. */
export function repeatedHeader(raw: readonly string[]): string | undefined {
  const seen = new Set<string>();
  for (let place = 0; place < raw.length; place += 2) {
    const name = raw[place]?.toLowerCase() ?? "";
    if (seen.has(name)) return name;
    if (single.includes(name)) seen.add(name);
  }
  return undefined;
}
