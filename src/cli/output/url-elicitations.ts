import { isJsonObject } from "../../generation/json-object.ts";
import type { JsonRpcError } from "../../task/outcome.ts";

/** A call that wants its user to visit addresses first. */
const urlElicitationRequired = -32042;

/** The addresses that a JSON-RPC error wants visited before the call is made again, one line each; empty for other errors. */
export function urlsToVisit({ code, data }: JsonRpcError): string {
  const asked: unknown = isJsonObject(data) ? data["elicitations"] : undefined;
  if (code !== urlElicitationRequired || !Array.isArray(asked)) return "";
  const lines = asked.map((elicitation: unknown) => {
    const { message, url } = isJsonObject(elicitation) ? elicitation : {};
    const said = typeof message === "string" ? `${message} ` : "";
    return typeof url === "string" ? `\n  ${said}${url}` : "";
  });
  return `\nVisit, and then call again:${lines.join("")}`;
}
