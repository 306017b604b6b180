import { createCipheriv, createDecipheriv } from "node:crypto";
import { CLIENT_INFO_META_KEY } from "@modelcontextprotocol/server";
import type { Clock } from "../../runtime/clock.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { HoldfastError } from "../../task/fault.ts";
import { answersIn, inputRequiredResult, readRetry } from "../../generation/2026-07-28.ts";
import type { JsonObject } from "../../generation/message.ts";
import { requestHash } from "../../runtime/call-keys.ts";
import type { GenerationName, TaskRecord, TaskSnapshot } from "../../task/record.ts";
import { type Answer, type Caller, completeAnswerOf, type ToolRequest } from "../request.ts";
import { canBeAsked, departureAfter, departureByReason, type PlainCall } from "../plain/plain-policies.ts";
import { clientNameIn } from "../plain/patience.ts";
import type { CallStream } from "../waiting-call.ts";
import type { RequestStream } from "./admission.ts";

/** How long a client may take over one round of questions, in ms. */
const lifetimeMs = 3_600_000;

/** How much the clocks of servers may differ, in ms. */
const skewMs = 60_000;

const algorithm = "aes-256-gcm";
const prefix = "v1.";
const nonceBytes = 12;
const tagBytes = 16;

/** What a state is good for. One that was sealed for anything else cannot be opened. */
type Binding = readonly unknown[];

type Sealer = Pick<Runtime, "secret"> & { readonly clock: Pick<Clock, "now" | "randomBytes"> };

/**
 * Seals what the server wants back with the next call, so that it has to keep nothing itself. The client can neither
 * read nor change it, nor use it for another call (X-B-010). The key lives in the store: a restarted server opens what
 * an earlier one sealed. Whatever a state says, it is good for no longer than `lifetimeMs` from now.
 */
export async function sealState(sealer: Sealer, binding: Binding, content: unknown): Promise<string> {
  const { clock } = sealer;
  const nonce = clock.randomBytes(nonceBytes);
  const cipher = createCipheriv(algorithm, (await sealer.secret("request-state")).current, nonce);
  cipher.setAAD(bytesOf(binding));
  const text = JSON.stringify({ expiresAt: clock.now() + lifetimeMs, content });
  const parts = [nonce, cipher.update(text, "utf8"), cipher.final(), cipher.getAuthTag()];
  return prefix + Buffer.concat(parts).toString("base64url");
}

/** What was sealed. Rejects with `invalid_params` for a state that is not ours, not for this call, or too old. */
export async function openState(sealer: Sealer, binding: Binding, state: string): Promise<unknown> {
  const opened = await tryOpenState(sealer, binding, state);
  if (opened !== undefined) return opened.content;
  throw new HoldfastError(
    "invalid_params",
    "Invalid requestState: it was changed, or belongs to another call. Call again without it.",
  );
}

/** The same for one that may have been sealed for something else: then it is undefined. */
async function tryOpenState(
  sealer: Sealer,
  binding: Binding,
  state: string,
): Promise<{ readonly content: unknown } | undefined> {
  const text = openedText((await sealer.secret("request-state")).accepted, binding, state);
  if (text === undefined) return undefined;
  const { expiresAt, content } = JSON.parse(text) as { expiresAt: number; content: unknown };
  const leftMs = expiresAt - sealer.clock.now();
  if (leftMs > 0 && leftMs <= lifetimeMs + skewMs) return { content };
  throw new HoldfastError("invalid_params", "The requestState has expired. Call again without it.");
}

function openedText(keys: readonly Uint8Array[], binding: Binding, state: string): string | undefined {
  for (const key of keys) {
    const text = decipher(key, binding, state);
    if (text !== undefined) return text;
  }
  return undefined;
}

function decipher(key: Uint8Array, binding: Binding, state: string): string | undefined {
  const sealed = Buffer.from(state.slice(prefix.length), "base64url");
  if (!state.startsWith(prefix) || sealed.length < nonceBytes + tagBytes) return undefined;
  const opening = createDecipheriv(algorithm, key, sealed.subarray(0, nonceBytes), {
    authTagLength: tagBytes,
  });
  opening.setAAD(bytesOf(binding));
  opening.setAuthTag(sealed.subarray(-tagBytes));
  try {
    const body = opening.update(sealed.subarray(nonceBytes, -tagBytes));
    return Buffer.concat([body, opening.final()]).toString();
  } catch {
    return undefined; // the tag does not fit: other bytes, another key or another binding
  }
}

function bytesOf(binding: Binding): Uint8Array {
  return Buffer.from(JSON.stringify(binding));
}

/** What a call's state names: the durable task that its questions are of. */
interface Content {
  readonly task: string;
  readonly generation: GenerationName;
}

/** The answer to a call that waits for its task, when the task asks something that its client supports. */
async function askByAnswer(
  runtime: Runtime,
  { task, inputs }: TaskSnapshot,
  params: JsonObject,
  { principal, capabilities }: Caller,
): Promise<Answer> {
  const asked = inputs.filter((input) => canBeAsked(input, capabilities));
  const questions = asked.map((input) => ({ ...input, params: JSON.parse(input.params) as JsonObject }));
  const content: Content = { task: task.id, generation: task.generation };
  const state = await sealState(runtime, bindingOf(params, principal), content);
  return { result: { ...inputRequiredResult(questions, state) } };
}

/**
 * The task that a call continues, after it accepted the answers that came along; undefined for a first call. An answer that does not fit
 * leaves its question open, which is then asked again. With `orElse` a state may be of another kind; otherwise such a state rejects with
 * `invalid_params`, as does one that is not for this call; `unknown_task` if the task is gone.
 */
export async function resumed(
  runtime: Runtime,
  { params, access, reserve }: Pick<ToolRequest, "params" | "access" | "reserve">,
  principal: string | null,
  orElse?: "another kind",
): Promise<TaskRecord | undefined> {
  const { requestState, inputResponses } = readRetry(params);
  if (requestState === undefined) return undefined;
  const binding = bindingOf(params, principal);
  const opened =
    orElse === undefined
      ? { content: await openState(runtime, binding, requestState) }
      : await tryOpenState(runtime, binding, requestState);
  if (opened === undefined) return undefined;
  const { task: id, generation } = opened.content as Content;
  const requestor = { generation, principal, scopes: access?.scopes };
  const { task } = await runtime.get(id, requestor, undefined, reserve);
  // Each by itself: an invalid answer must not cause the valid ones to be asked for again.
  for (const answer of answersIn(inputResponses)) {
    try {
      await runtime.answer(id, requestor, [answer]);
    } catch (error) {
      if (!(error instanceof HoldfastError) || error.code !== "invalid_params") throw error;
    }
  }
  return task;
}

/** Another call has no use for the state, nor has another caller. */
function bindingOf(params: JsonObject, principal: string | null): Binding {
  return ["plain", requestHash(params["name"], params["arguments"] ?? {}), principal];
}

export function callStream(stream: RequestStream, { logLevel }: Caller): CallStream {
  return {
    logLevel: () => logLevel,
    notify: (method, params) => stream.notify(method, params),
    afterAnswer: (action) => stream.afterAnswer(action),
  };
}

/** A call of a client that did not declare the extension: its questions are answers to the call, round by round. */
export function plainCall(
  runtime: Runtime,
  request: ToolRequest,
  caller: Caller,
  stream: RequestStream,
): PlainCall {
  const { capabilities, principal } = caller;
  const { params, signal } = request;
  const arrivedAt = runtime.clock.elapsed();
  return {
    request,
    owner: { principal, session: undefined, scopes: request.access?.scopes },
    capabilities,
    client: clientNameIn((params["_meta"] as JsonObject | undefined)?.[CLIENT_INFO_META_KEY]),
    answerOf: completeAnswerOf,
    askByAnswer: (snapshot) => askByAnswer(runtime, snapshot, params, caller),
    stream: callStream(stream, caller),
    isWaitedFor: () => !signal.aborted,
    departure() {
      if (!signal.aborted || stream.leftBy === undefined) return undefined;
      return stream.leftBy === "closing"
        ? departureAfter(runtime.clock.elapsed() - arrivedAt)
        : departureByReason(signal.reason);
    },
  };
}
