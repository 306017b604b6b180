import { createHmac } from "node:crypto";
import type { BaseLogger } from "pino";
import { HoldfastError } from "../../task/fault.ts";
import { assertOptionNames, type OptionNames } from "../../task/option-names.ts";
import type { EventError, ServerEvent } from "./server-event.ts";

export interface PinoEventsOptions {
  /**
   * Whether logs name the principals of tasks. `hashKey`: by a keyed hash (HMAC with SHA-256), which is the same for the same principal, and by
   * which nobody without the key can find out who it is. Default `keep`.
   */
  readonly principal?: "keep" | "omit" | { readonly hashKey: string };
  /** Whether logs have the texts and stacks of errors, which may quote what a caller sent. Names and codes stay. Default `keep`. */
  readonly errorText?: "keep" | "omit";
}

type Level = "debug" | "info" | "warn" | "error";

/** What the parts of events become that may be private. */
interface Redaction {
  readonly principal: (principal: string | null) => { readonly principal?: string | null };
  readonly errors: boolean;
}

/**
 * An `onEvent` that writes a line of a pino logger for each event: its type as `event`, its error as `err`, and the rest as it is. Faults are
 * errors: a task whose handler threw for the last time, or that cannot be read, and a process that lost its listener or its store. Retries, refusals,
 * expiries and leaked handlers are warnings, and steps that are done are for debugging. pino's own `redact` works on these lines too.
 *
 * ```ts
 * const tasks = createTasks({ store, onEvent: pinoEvents(pino()) });
 * ```
 *
 * Throws `configuration` for options that could not work.
 */
export function pinoEvents(
  logger: Pick<BaseLogger, Level>,
  options: PinoEventsOptions = {},
): (event: ServerEvent) => void {
  const redaction = redactionOf(options);
  return (event) => logger[levelOf(event)](lineOf(event, redaction), event.type.replaceAll(/[._]/g, " "));
}

function levelOf(event: ServerEvent): Level {
  switch (event.type) {
    case "task.step":
      return event.outcome === "done" ? "debug" : "warn";
    case "task.settled":
      return event.error === undefined ? "info" : "error";
    case "task.retried":
    case "task.expired":
    case "request.refused":
    case "handler.leaked":
    case "owner.lost":
    case "webhook.retried":
    case "webhook.dropped":
      return "warn";
    case "webhook.delivered":
      return "debug";
    case "task.unreadable":
    case "listener.lost":
    case "store.lost":
    case "webhook.failed":
    case "webhook.stopped":
      return "error";
    default:
      return "info";
  }
}

/** pino says itself when it was. */
function lineOf({ type, at: _, ...event }: ServerEvent, redaction: Redaction): object {
  return {
    event: type,
    ...event,
    ...("principal" in event && { principal: undefined, ...redaction.principal(event.principal) }),
    ...("message" in event && !redaction.errors && { message: undefined }),
    ...("error" in event && { error: undefined, ...(event.error && { err: errOf(event.error, redaction) }) }),
  };
}

/** As pino's own serializer of errors makes it: what it is given is no `Error`, whose class it would show in place of the name. */
function errOf({ name, code, message, stack }: EventError, { errors }: Redaction): object {
  const coded = code === undefined ? {} : { code };
  if (!errors) return { type: name, ...coded };
  const err = { __proto__: null, type: name, message, stack, ...coded };
  return Object.defineProperty(err, "name", { value: name });
}

const names: OptionNames<PinoEventsOptions> = { principal: true, errorText: true };

function redactionOf(options: PinoEventsOptions): Redaction {
  assertOptionNames("pinoEvents", options, names);
  const { principal: kept = "keep", errorText = "keep" } = options;
  if (errorText !== "keep" && errorText !== "omit") throw wrong('errorText has to be "keep" or "omit"');
  const errors = errorText === "keep";
  if (kept === "keep") return { errors, principal: (principal) => ({ principal }) };
  if (kept === "omit") return { errors, principal: () => ({}) };
  const { hashKey } = kept;
  if (typeof hashKey !== "string" || hashKey === "")
    throw wrong('principal has to be "keep", "omit" or { hashKey }, with a key that is a string');
  const hash = (principal: string): string => createHmac("sha256", hashKey).update(principal).digest("hex");
  return { errors, principal: (principal) => ({ principal: principal === null ? null : hash(principal) }) };
}

function wrong(problem: string): HoldfastError {
  return new HoldfastError("configuration", `pinoEvents: ${problem}.`);
}
