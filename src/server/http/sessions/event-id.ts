/**
 * The ids of events on the streams of sessions. A client hands them back, perhaps to another process, which learns from them what it has to
 * answer. What an id says of requests is sealed:
 *
 * - A client cannot write such a part itself, nor change it, nor use that of another session.
 * - Without a key, ids say nothing of requests, so that only the process that wrote them can resume their streams.
 */

import { createHmac, timingSafeEqual } from "node:crypto";
import type { JSONRPCRequest, RequestId } from "@modelcontextprotocol/server";
import type { Secret } from "../../../task/secret.ts";

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

const sealBytes = 16;

/** Writes and reads the ids of one session. */
export class EventIds {
  readonly #session: string;
  readonly #key: Secret | undefined;

  /** `session`: its name in the store. `key`: the same in all processes. */
  constructor(session: string, key: Secret | undefined) {
    this.#session = session;
    this.#key = key;
  }

  /** What an id says of calls: in full, only their ids, or nothing, depending on the space. */
  formatCalls(calls: readonly OpenCall[]): string {
    if (this.#key === undefined || calls.length === 0 || calls.length > mostCalls) return "";
    for (const each of [calls, calls.map(({ id }) => ({ id }))]) {
      const json = Buffer.from(JSON.stringify(each));
      const text = Buffer.concat([this.#seal(json, this.#key.current), json]).toString("base64url");
      if (text.length <= mostChars) return `-${text}`;
    }
    return "";
  }

  /** Undefined for an id that no process of this session wrote. */
  parse(text: string): EventId | undefined {
    const [, log, stream, event, calls] =
      /^(\w{8})-(\d{1,15})-(\d{1,15})(?:-([\w-]{1,2048}))?$/.exec(text) ?? [];
    const parsed = calls === undefined ? [] : this.#open(Buffer.from(calls, "base64url"));
    if (log === undefined || parsed === undefined) return undefined;
    return { log, stream: Number(stream), event: Number(event), calls: parsed };
  }

  #open(sealed: Buffer): OpenCall[] | undefined {
    if (this.#key === undefined || sealed.length <= sealBytes) return undefined;
    const json = sealed.subarray(sealBytes);
    const seal = sealed.subarray(0, sealBytes);
    const isOurs = this.#key.accepted.some((key) => timingSafeEqual(this.#seal(json, key), seal));
    return isOurs ? (JSON.parse(json.toString()) as OpenCall[]) : undefined;
  }

  #seal(json: Uint8Array, key: Uint8Array): Buffer {
    return createHmac("sha256", key)
      .update(`${this.#session}\n`)
      .update(json)
      .digest()
      .subarray(0, sealBytes);
  }
}
