import type { JsonObject } from "../../generation/json-object.ts";
import { withMeta } from "../../generation/meta.ts";
import { refusedMeta } from "../../generation/question-key.ts";
import { faultOfAnswer } from "../../runtime/attempt/answer-form.ts";
import type { InputMethod } from "../../task/input.ts";
import type { JsonRpcError } from "../../task/outcome.ts";
import type { Reply } from "./asked.ts";

/** How often a question is put again whose answers are not what it asks for: the task fails with the next one. */
export const mostRefusals = 3;

/** How a question is put to a client: as its author wrote it, or again. */
export interface Manner {
  /** Not as a task of the client's own: one that was asked so answered with an error. */
  readonly plainly: boolean;
  /** How many answers were not what the question asks for. */
  readonly refusals: number;
  /** What was wrong with the last of them. */
  readonly reason?: string;
}

export const firstManner: Manner = { plainly: false, refusals: 0 };

/** What a reply is: the end of its question, or a reason to put it again. */
export type Verdict =
  | { readonly kind: "answer"; readonly value: JsonObject }
  | { readonly kind: "error"; readonly error: JsonRpcError }
  | { readonly kind: "again"; readonly manner: Manner };

interface Put {
  readonly method: InputMethod;
  /** As the author wrote them. */
  readonly params: JsonObject;
  readonly manner: Manner;
}

export function judgeReply({ method, params, manner }: Put, reply: Reply): Verdict {
  if ("error" in reply) {
    if (reply.ofTask !== true || manner.plainly) return { kind: "error", error: reply.error };
    return { kind: "again", manner: { ...manner, plainly: true } };
  }
  const reason = faultOfAnswer(method, params, reply.result);
  if (reason === undefined) return { kind: "answer", value: reply.result };
  const refusals = manner.refusals + 1;
  if (refusals <= mostRefusals) return { kind: "again", manner: { ...manner, refusals, reason } };
  return {
    kind: "error",
    error: { code: -32602, message: `The answer is not what was asked for: ${reason}` },
  };
}

/** The params of a question that is put so: who is asked again reads why. */
export function paramsFor({ params, manner }: Put): JsonObject {
  const { reason } = manner;
  if (reason === undefined) return params;
  const { message } = params;
  const said = `The last answer was not accepted: ${reason}`;
  const asked = typeof message === "string" ? { ...params, message: `${message}\n\n${said}` } : params;
  return withMeta(asked, { [refusedMeta]: reason });
}
