import type { JsonRpcError } from "../task/outcome.ts";

/** What an error says of itself. */
export function errorText({ code, message }: JsonRpcError): string {
  return message === "" ? `The request failed with code ${code}.` : message;
}
