import { HoldfastError } from "../../task/fault.ts";
import { isJsonObject, type JsonObject } from "../json-object.ts";
import type { WireInputRequest } from "./project.ts";

/** The answer to a call that needs input before it can continue: the client calls again with both (X-B-008). */
export interface InputRequiredResult {
  readonly resultType: "input_required";
  readonly inputRequests: Readonly<Record<string, WireInputRequest>>;
  /** Opaque to the client, which returns it unchanged. */
  readonly requestState: string;
}

export function inputRequiredResult(
  questions: readonly (WireInputRequest & { readonly key: string })[],
  requestState: string,
): InputRequiredResult {
  // fromEntries keeps any key, `__proto__` too, as a plain member
  const inputRequests = Object.fromEntries(
    questions.map(({ key, method, params }) => [key, { method, params }]),
  );
  return { resultType: "input_required", inputRequests, requestState };
}

/** What a call brings from an earlier round (X-B-009); a first call brings nothing. */
export interface Retry {
  readonly requestState: string | undefined;
  /** By key, as the client sent them; not yet checked. */
  readonly inputResponses: JsonObject;
}

/** Reads the params of a call; throws `invalid_params` with the reason. */
export function readRetry({ requestState, inputResponses = {} }: JsonObject): Retry {
  if (requestState !== undefined && typeof requestState !== "string") {
    throw new HoldfastError(
      "invalid_params",
      "params.requestState has to be the string that was handed out.",
    );
  }
  if (!isJsonObject(inputResponses)) {
    throw new HoldfastError("invalid_params", "params.inputResponses has to be an object.");
  }
  return { requestState, inputResponses };
}
