/** A URL that is safe for a link: a URL in data could be a script. */
export function httpUrl(text: string): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  return url !== undefined && /^https?:$/.test(url.protocol) ? url.href : undefined;
}

/** The URL of a trace; undefined if there is none, or it is invalid. */
export function traceUrlOf(template: string | null, traceId: string | null): string | undefined {
  if (template === null || traceId === null) return undefined;
  return httpUrl(template.replaceAll("{traceId}", encodeURIComponent(traceId)));
}
