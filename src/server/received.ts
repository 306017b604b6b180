import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  LOG_LEVEL_META_KEY,
  PROTOCOL_VERSION_META_KEY,
  type AuthInfo,
} from "@modelcontextprotocol/server";
import { type JsonObject, metaOf } from "../generation/message.ts";
import { isReader, storedMetaKeys, type ReceivedRequest } from "../runtime/tool/received-request.ts";
import type { Tool } from "../runtime/tool/tool.ts";
import type { ReceivedPart } from "../task/record.ts";

/** Those keys of `_meta` that the SDK shows to handlers as the envelope. */
const envelopeKeys: readonly string[] = [
  PROTOCOL_VERSION_META_KEY,
  CLIENT_INFO_META_KEY,
  CLIENT_CAPABILITIES_META_KEY,
  LOG_LEVEL_META_KEY,
];

/** What the transport knows of a request, for handlers that were written for the SDK. */
export interface TransportInfo {
  readonly authInfo?: AuthInfo | undefined;
  /** Of the session in which it came. */
  readonly sessionId?: string | undefined;
  /** Over HTTP; its body is not looked at. */
  readonly http?: (() => Request | undefined) | undefined;
}

/** Clients choose what is in `_meta`, and it is kept for as long as their tasks last (bytes of JSON). */
const mostMetaBytes = 16_384;

interface OpenRequest {
  readonly id: string | number;
  readonly params: JsonObject;
  readonly transport?: TransportInfo | undefined;
}

/** The parts of a request kept in memory; undefined if the tool's handler does not use them. */
export function receivedBy(tool: Tool | undefined, request: OpenRequest): ReceivedRequest | undefined {
  if (tool === undefined || !isReader(tool.handler)) return undefined;
  const { id, params, transport = {} } = request;
  const { authInfo, sessionId } = transport;
  const all = metaOf(params);
  const isCut = Buffer.byteLength(JSON.stringify(all)) > mostMetaBytes;
  const entries = Object.entries(all).filter(([key, value]) => !isCut || isShort(key, value));
  const meta = entries.filter(([key]) => !envelopeKeys.includes(key));
  const envelope = entries.filter(([key]) => envelopeKeys.includes(key));
  const http = transport.http?.();
  return {
    id,
    ...(meta.length > 0 && { meta: Object.fromEntries(meta) }),
    ...(envelope.length > 0 && { envelope: Object.fromEntries(envelope) }),
    ...(isCut && { isCut }),
    ...(sessionId !== undefined && { sessionId }),
    ...(authInfo !== undefined && { authInfo }),
    ...(http !== undefined && {
      http: new Request(http.url, { method: http.method, headers: http.headers }),
    }),
  };
}

/** What is stored anyway, unless it is what is large. */
function isShort(key: string, value: unknown): boolean {
  return storedMetaKeys.includes(key) && String(value).length <= 1_000;
}

/** Which parts of it a later process will not have. */
export function unstoredParts({
  meta = {},
  envelope,
  isCut = false,
  sessionId,
  authInfo,
  http,
}: ReceivedRequest): ReceivedPart[] {
  const hasMore = isCut || Object.keys(meta).some((key) => !storedMetaKeys.includes(key));
  return [
    ...(hasMore ? (["_meta"] as const) : []),
    ...(isCut || envelope !== undefined ? (["envelope"] as const) : []),
    ...(sessionId !== undefined ? (["sessionId"] as const) : []),
    ...(http !== undefined || authInfo !== undefined ? (["http"] as const) : []),
  ];
}
