import type { JSONRPCRequest, RequestId } from "@modelcontextprotocol/server";
import { isJsonObject } from "../../../generation/message.ts";

/** What the next process has to know of a request to answer it. */
export interface OpenCall {
  readonly id: RequestId;
  /** The task whose outcome is its answer, if the task does not store the request, because another request made it. */
  readonly task?: string;
  /** The request itself, if it can be repeated. */
  readonly request?: Pick<JSONRPCRequest, "method" | "params">;
}

/** An event on a stream of a session. */
export interface EventId {
  /** Names the log that numbered the event: a session has another one in each process. */
  readonly log: string;
  /** The number of its stream; 0 is the standalone stream. */
  readonly stream: number;
  /** Its own number, in the log. */
  readonly event: number;
  /** The unanswered requests on the stream, as many as fit. */
  readonly calls: readonly OpenCall[];
}

/** The most that calls take in an id, in characters. Clients send it as a header. */
const mostChars = 2_048;
const mostCalls = 50;

/** What an id contains about calls: in full, only their ids, or nothing, depending on the space. */
export function formatCalls(calls: readonly OpenCall[]): string {
  if (calls.length === 0 || calls.length > mostCalls) return "";
  for (const each of [calls, calls.map(({ id }) => ({ id }))]) {
    const text = Buffer.from(JSON.stringify(each)).toString("base64url");
    if (text.length <= mostChars) return `-${text}`;
  }
  return "";
}

/** Undefined for an invalid event id. */
export function parseEventId(text: string): EventId | undefined {
  const [, log, stream, event, calls] =
    /^(\w{8})-(\d{1,15})-(\d{1,15})(?:-([\w-]{1,2048}))?$/.exec(text) ?? [];
  const parsed = calls === undefined ? [] : parseCalls(calls);
  if (log === undefined || parsed === undefined) return undefined;
  return { log, stream: Number(stream), event: Number(event), calls: parsed };
}

function parseCalls(text: string): OpenCall[] | undefined {
  let calls: unknown;
  try {
    calls = JSON.parse(Buffer.from(text, "base64url").toString());
  } catch {
    return undefined;
  }
  return Array.isArray(calls) && calls.length <= mostCalls && calls.every(isCall) ? calls : undefined;
}

function isCall(value: unknown): value is OpenCall {
  if (!isJsonObject(value)) return false;
  const { id, task, request } = value;
  return (
    (typeof id === "string" || typeof id === "number") &&
    (task === undefined || typeof task === "string") &&
    (request === undefined || isRequest(request))
  );
}

function isRequest(value: unknown): boolean {
  if (!isJsonObject(value)) return false;
  const { method, params } = value;
  return typeof method === "string" && (params === undefined || isJsonObject(params));
}
