/** A URL that a link may lead to: what data says may as well be a script. */
export function httpUrl(text: string): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  return url !== undefined && /^https?:$/.test(url.protocol) ? url.href : undefined;
}

/** Where a trace is shown; undefined where nobody said, or said no URL. */
export function traceUrlOf(template: string | null, traceId: string | null): string | undefined {
  if (template === null || traceId === null) return undefined;
  return httpUrl(template.replaceAll("{traceId}", encodeURIComponent(traceId)));
}
