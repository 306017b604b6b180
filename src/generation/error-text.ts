import type { JsonRpcError } from "../task/outcome.ts";

/** The text of an error. */
export function errorText({ code, message }: JsonRpcError): string {
  return message === "" ? `The request failed with code ${code}.` : message;
}
