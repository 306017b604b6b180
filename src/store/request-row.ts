import type { CallerDetails, Origin, TaskRequest } from "../task/record.ts";
import { isSealed } from "../task/stored-text.ts";
import type { Codec, Place } from "./codec.ts";
import { columnsOf, text, textOrNull, type Row } from "./row.ts";
import { toStored } from "./stored-text.ts";

/** The columns of `request` that hold one, besides the task's id. */
export const requestColumns = ["origin", "arguments", "prepared"] as const;

type Sealed = "caller" | "baggage" | "arguments" | "prepared";

/** Binds it to the request's part in clear that decides what the task may do, and who gets its messages. */
const place = (of: string, column: Sealed, { session, requestId, toolScopes }: Origin): Place => ({
  table: "request",
  column,
  of,
  key: JSON.stringify([session, requestId, toolScopes]),
});

const at = columnsOf(["task_id", ...requestColumns]);

/** The values for `requestColumns` of the task `of`. */
export function requestRowOf(
  of: string,
  request: TaskRequest,
  codec: Codec,
): [string, string, string | null] {
  const { origin, arguments: args, prepared } = request;
  return [
    JSON.stringify(sealedOrigin(of, origin, codec)),
    toStored(codec.seal(args, place(of, "arguments", origin))),
    prepared === null ? null : toStored(codec.seal(prepared, place(of, "prepared", origin))),
  ];
}

/** The request of the task `of` in a row of the task's id and `requestColumns`. */
export function requestOf(of: string, row: Row, codec: Codec): TaskRequest {
  const prepared = textOrNull(row, at.prepared);
  const origin = JSON.parse(text(row, at.origin)) as Origin;
  return {
    origin: openedOrigin(of, origin, codec),
    arguments: codec.open(text(row, at.arguments), place(of, "arguments", origin)),
    prepared: prepared === null ? null : codec.open(prepared, place(of, "prepared", origin)),
  };
}

/** Statements search by the rest. */
function sealedOrigin(of: string, origin: Origin, codec: Codec): Origin {
  const { caller, trace } = origin;
  return {
    ...origin,
    ...(caller !== undefined && { caller: sealedCaller(of, origin, caller, codec) }),
    ...(trace?.baggage !== undefined && {
      trace: { ...trace, baggage: codec.seal(trace.baggage, place(of, "baggage", origin)) },
    }),
  };
}

function openedOrigin(of: string, origin: Origin, codec: Codec): Origin {
  const { caller, trace } = origin;
  return {
    ...origin,
    ...(caller !== undefined && { caller: openedCaller(of, origin, caller, codec) }),
    ...(trace?.baggage !== undefined && {
      trace: { ...trace, baggage: codec.open(trace.baggage, place(of, "baggage", origin)) },
    }),
  };
}

/** The result is still an object. In a store in clear it is the caller itself. */
function sealedCaller(of: string, origin: Origin, caller: CallerDetails, codec: Codec): CallerDetails {
  const json = JSON.stringify(caller);
  const sealed = codec.seal(json, place(of, "caller", origin));
  return sealed === json ? caller : { claims: { sealed } };
}

function openedCaller(of: string, origin: Origin, caller: CallerDetails, codec: Codec): CallerDetails {
  const sealed = caller.claims?.["sealed"];
  const stored = typeof sealed === "string" && isSealed(sealed) ? sealed : JSON.stringify(caller);
  const opened = codec.open(stored, place(of, "caller", origin));
  return isSealed(opened) ? caller : (JSON.parse(opened) as CallerDetails);
}
