/** The requests that a task can put to its client while it runs. */
export const inputMethods = ["elicitation/create", "sampling/createMessage", "roots/list"] as const;

export type InputMethod = (typeof inputMethods)[number];

/** The client capability that a question of each kind needs; none is sent without it (X-B-011). */
export const capabilityForInput: Readonly<Record<InputMethod, "elicitation" | "sampling" | "roots">> = {
  "elicitation/create": "elicitation",
  "sampling/createMessage": "sampling",
  "roots/list": "roots",
};

/** A question to the client. `key` is unique for the whole life of its task and never used again. */
export interface InputRequest {
  readonly key: string;
  readonly method: InputMethod;
  /** Raw JSON text of the request's params; `{}` where it has none. */
  readonly params: string;
}

/** An answer, as raw JSON text of the method's result object. */
export interface InputAnswer {
  readonly key: string;
  readonly value: string;
}
