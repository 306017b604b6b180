import type { JSONRPCMessage, RequestId } from "@modelcontextprotocol/server";
import { isJsonObject } from "../../../generation/message.ts";

/** The ids of the requests in a body, which is a message or a batch of them. */
export function requestIds(body: unknown): RequestId[] {
  return messagesOf(body).flatMap((message) =>
    isJsonObject(message) && typeof message["method"] === "string" && isId(message["id"])
      ? [message["id"]]
      : [],
  );
}

/** The id of the request that a message cancels. */
export function cancelledId(message: JSONRPCMessage): RequestId | undefined {
  if (!("method" in message) || message.method !== "notifications/cancelled") return undefined;
  const id = message.params?.["requestId"];
  return isId(id) ? id : undefined;
}

/** The ids of the requests of ours that `messages` answer. */
export function answeredIds(messages: readonly JSONRPCMessage[]): RequestId[] {
  return messages.flatMap((message) => ("method" in message || message.id === undefined ? [] : [message.id]));
}

/** The id to answer a refusal with: that of the only request, or null. */
export function idToAnswer(body: unknown): RequestId | null {
  const [id = null] = Array.isArray(body) ? [] : requestIds(body);
  return id;
}

const polls: readonly unknown[] = ["tasks/get", "tasks/list", "tasks/cancel", "tasks/delete"];

/** Whether `body` is a request that is answered at once and without a stream (C-054). */
export function isPoll(body: unknown): boolean {
  return isJsonObject(body) && polls.includes(body["method"]) && isId(body["id"]);
}

/** What requests can be answered as: on a stream, where other messages can precede the answer, or as the JSON of the answer alone. */
export type AnswerForm = "stream" | "json";

/** By a client's Accept header; undefined: it has to accept JSON, as which all else is answered, and gets no answers otherwise. */
export function acceptedForm(accept: string | null): AnswerForm | undefined {
  if (accept === null || !/application\/(?:json|\*)|\*\/\*/.test(accept)) return undefined;
  return accept.includes("text/event-stream") ? "stream" : "json";
}

/** Whether a client accepts a stream where nothing else can be the answer. */
export function acceptsStreams(accept: string | null): boolean {
  return accept === null || /text\/(?:event-stream|\*)|\*\/\*/.test(accept);
}

function messagesOf(body: unknown): readonly unknown[] {
  return Array.isArray(body) ? body : [body];
}

function isId(id: unknown): id is RequestId {
  return typeof id === "string" || typeof id === "number";
}
