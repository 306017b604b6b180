import type { SdkHttpError } from "@modelcontextprotocol/client";
import { isHtml, saidInBody } from "../reply/said-in-body.ts";

/** What an HTTP error says. A redirect that was not followed is told by the SDK. */
export function httpAnswer({ data: { status, text } }: SdkHttpError): string | undefined {
  if (status >= 300 && status < 400) return undefined;
  const said = saidInBody(text);
  const page = isHtml(text) ? " with a web page" : "";
  return `the server answered HTTP ${status}${said === undefined ? page : `: ${said}`}`;
}
