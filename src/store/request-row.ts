import type { CallerDetails, Origin, TaskRequest } from "../task/record.ts";
import { isSealed } from "../task/stored-text.ts";
import { inClear, type Codec, type Place } from "./codec.ts";
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

function sealedOrigin(of: string, origin: Origin, codec: Codec): Origin {
  if (codec === inClear) return origin;
  return originWith(
    origin,
    // It is still an object.
    (caller) => ({ claims: { sealed: codec.seal(JSON.stringify(caller), place(of, "caller", origin)) } }),
    (baggage) => codec.seal(baggage, place(of, "baggage", origin)),
  );
}

function openedOrigin(of: string, origin: Origin, codec: Codec): Origin {
  if (codec === inClear) return origin;
  return originWith(
    origin,
    (caller) => {
      const sealed = caller.claims?.["sealed"];
      const stored = typeof sealed === "string" && isSealed(sealed) ? sealed : JSON.stringify(caller);
      const opened = codec.open(stored, place(of, "caller", origin));
      return isSealed(opened) ? caller : (JSON.parse(opened) as CallerDetails);
    },
    (baggage) => codec.open(baggage, place(of, "baggage", origin)),
  );
}

/** Statements search by the rest. */
function originWith(
  origin: Origin,
  callerOf: (caller: CallerDetails) => CallerDetails,
  baggageOf: (baggage: string) => string,
): Origin {
  const { caller, trace } = origin;
  return {
    ...origin,
    ...(caller !== undefined && { caller: callerOf(caller) }),
    ...(trace?.baggage !== undefined && { trace: { ...trace, baggage: baggageOf(trace.baggage) } }),
  };
}
