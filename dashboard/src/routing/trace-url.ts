import { webAddress } from "../../../src/generation/web-address.ts";

/** The URL of a trace; undefined if there is none, or it is invalid. */
export function traceUrlOf(template: string | null, traceId: string | null): string | undefined {
  if (template === null || traceId === null) return undefined;
  return webAddress(template.replaceAll("{traceId}", encodeURIComponent(traceId)))?.href;
}
