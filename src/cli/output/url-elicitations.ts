import { isJsonObject } from "../../generation/message.ts";
import { shownAddress } from "../../generation/web-address.ts";
import type { JsonRpcError } from "../../task/outcome.ts";

/** The error codes for a call whose user has to visit URLs first. 2026-07-28 has none for that; Holdfast servers send -32603. */
const codes: readonly number[] = [-32042, -32603];

/** The URLs that the user has to visit before calling again, one per line; empty for other errors. */
export function urlsToVisit({ code, data }: JsonRpcError): string {
  const asked: unknown = isJsonObject(data) ? data["elicitations"] : undefined;
  if (!codes.includes(code) || !Array.isArray(asked)) return "";
  const lines = asked.map((elicitation: unknown) => {
    const { message, url } = isJsonObject(elicitation) ? elicitation : {};
    const prefix = typeof message === "string" ? `${message} ` : "";
    return typeof url === "string" ? `\n  ${prefix}${shownAddress(url)}` : "";
  });
  return `\nVisit, and then call again:${lines.join("")}`;
}
