/** The requests that a task can send to its client while it runs. */
export const inputMethods = ["elicitation/create", "sampling/createMessage", "roots/list"] as const;

export type InputMethod = (typeof inputMethods)[number];

type Capabilities = Readonly<Record<string, unknown>>;

/**
 * The client capabilities that a question needs and the client did not declare, in the form in which capabilities are declared; undefined
 * if it can be asked. No question is asked without its capability (X-B-011, A-24).
 */
export function missingForInput(
  method: InputMethod,
  params: Capabilities,
  declared: Capabilities,
): Capabilities | undefined {
  switch (method) {
    case "sampling/createMessage":
      return declared["sampling"] === undefined ? { sampling: {} } : undefined;
    case "roots/list":
      return declared["roots"] === undefined ? { roots: {} } : undefined;
    case "elicitation/create":
      return missingForElicitation(params["mode"] === "url" ? "url" : "form", declared["elicitation"]);
  }
}

/** A client that names no mode can show forms: the first revision of elicitation had only those. */
function missingForElicitation(mode: "form" | "url", declared: unknown): Capabilities | undefined {
  const modes = typeof declared === "object" && declared !== null ? declared : undefined;
  if (modes === undefined) return { elicitation: mode === "url" ? { url: {} } : {} };
  const namesModes = "form" in modes || "url" in modes;
  if (mode in modes || (mode === "form" && !namesModes)) return undefined;
  return { elicitation: { [mode]: {} } };
}

/** A question to the client. `key` is unique for the whole life of its task and never used again. */
export interface InputRequest {
  readonly key: string;
  readonly method: InputMethod;
  /** Raw JSON text of the request's params; `{}` if it has none. */
  readonly params: string;
  /** For a question of a task below the one that shows it: further scopes needed to answer it. Left out: none. */
  readonly requiredScopes?: readonly string[];
}

/**
 * An answer. `value` is the raw JSON text of the method's result object, `error` that of the JSON-RPC error (`{ code, message, data? }`)
 * with which a client answered a nested request.
 */
export type InputAnswer =
  { readonly key: string; readonly value: string } | { readonly key: string; readonly error: string };
