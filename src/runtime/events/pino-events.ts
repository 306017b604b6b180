import { createHmac } from "node:crypto";
import type { BaseLogger } from "pino";
import { HoldfastError } from "../../task/fault.ts";
import { assertOptionNames, type OptionNames } from "../../task/option-names.ts";
import type { EventError, ServerEvent } from "./server-event.ts";

/** Options of `pinoEvents`. */
export interface PinoEventsOptions {
  /**
   * Whether logs name the principals of tasks. `hashKey`: as a keyed hash (HMAC with SHA-256), equal for the same principal, which only
   * holders of the key can link to a name. Default `keep`.
   */
  readonly principal?: "keep" | "omit" | { readonly hashKey: string };
  /** Whether logs contain the texts and stacks of errors, which may quote what a caller sent. Names and codes stay. Default `keep`. */
  readonly errorText?: "keep" | "omit";
}

type Level = "debug" | "info" | "warn" | "error";

/** How to log the parts of events that may be private. */
interface Redaction {
  readonly principal: (principal: string | null) => { readonly principal?: string | null };
  readonly errors: boolean;
}

/**
 * Makes an `onEvent` that writes each event as a line of a pino logger: its type as `event`, its error as `err`, and the rest unchanged.
 * Errors: a task that failed with an error or cannot be read, a lost listener or store, and a webhook that failed or stopped. Warnings:
 * blocked and abandoned tasks, keys of a journal that a handler has not come to, retries, refusals, expiries, leaked handlers, lost processes, dropped
 * messages and a clock that is off. Debug: finished steps and delivered messages. pino's
 * own `redact` works on these lines too.
 *
 * ```ts
 * const tasks = createTasks({ store, onEvent: pinoEvents(pino()) });
 * ```
 *
 * Throws `configuration` for invalid options.
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
    case "task.blocked":
    case "task.unreached":
    case "task.retried":
    case "task.expired":
    case "task.abandoned":
    case "request.refused":
    case "handler.leaked":
    case "loop.blocked":
    case "owner.lost":
    case "webhook.retried":
    case "webhook.dropped":
    case "clock.off":
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

/** pino adds the time itself. */
function lineOf({ type, at: _, ...event }: ServerEvent, redaction: Redaction): object {
  return {
    event: type,
    ...event,
    ...("principal" in event && { principal: undefined, ...redaction.principal(event.principal) }),
    ...("message" in event && !redaction.errors && { message: undefined }),
    ...("error" in event && { error: undefined, ...(event.error && { err: errOf(event.error, redaction) }) }),
  };
}

/** The form of pino's own error serializer. The event's error is no `Error`, so pino would show its class instead of its name. */
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
  if (errorText !== "keep" && errorText !== "omit") throw wrong('errorText must be "keep" or "omit"');
  const errors = errorText === "keep";
  if (kept === "keep") return { errors, principal: (principal) => ({ principal }) };
  if (kept === "omit") return { errors, principal: () => ({}) };
  const { hashKey } = kept;
  if (typeof hashKey !== "string" || hashKey === "")
    throw wrong('principal must be "keep", "omit" or { hashKey }, with a key that is a string');
  const hash = (principal: string): string => createHmac("sha256", hashKey).update(principal).digest("hex");
  return { errors, principal: (principal) => ({ principal: principal === null ? null : hash(principal) }) };
}

function wrong(problem: string): HoldfastError {
  return new HoldfastError("configuration", `pinoEvents: ${problem}.`);
}
