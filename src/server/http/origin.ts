/** Whether it is an origin as browsers send it. */
export function isOrigin(origin: string): boolean {
  if (origin.includes("*")) return false; // no pattern is understood
  // Of schemes that it does not know, such as those of browser extensions, the platform gives no origin.
  if (!/^https?:/i.test(origin)) return /^[a-z][a-z\d+.-]*:\/\/[^\s/?#*,@]+$/.test(origin);
  return URL.canParse(origin) && new URL(origin).origin === origin;
}
