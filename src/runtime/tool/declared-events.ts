/** The events that a tool declares: its handler waits for no other, and code that sends one is told of a wrong name or value at once. */

import type { StandardSchemaV1 } from "@modelcontextprotocol/server";
import { tableOf, value as given } from "../../options/options.ts";
import { HoldfastError } from "../../task/fault.ts";
import { describeIssues } from "./schema.ts";

/** The schemas of a tool's events, by the names of the events. */
export type EventSchemas = Readonly<Record<string, StandardSchemaV1>>;

/** The names of the events that a tool declares; of one that declares none, any. */
export type EventName<Declared> = Declared extends EventSchemas ? Extract<keyof Declared, string> : string;

/** What is sent with an event. */
export type EventInput<Declared, Name> = Declared extends EventSchemas
  ? Name extends keyof Declared
    ? StandardSchemaV1.InferInput<Declared[Name]>
    : never
  : unknown;

/** What a handler gets of it. */
export type EventValue<Declared, Name> = Declared extends EventSchemas
  ? Name extends keyof Declared
    ? StandardSchemaV1.InferOutput<Declared[Name]>
    : never
  : unknown;

class DeclaredSendOptions {
  /** Identifies the event, at most 255 characters. Another event with the same id has no effect as long as the task lives. */
  readonly dedupeId?: string = given("a string", (id) => typeof id === "string");
}

/** How an event is sent. */
export interface SendOptions extends DeclaredSendOptions {}

export const sendOptions = tableOf<SendOptions>(DeclaredSendOptions);

/** A wait for an event. */
export interface EventWait<Value> extends Promise<Value> {
  /**
   * The address that ends this wait with the JSON of a POST, once: for a service that is to call back, or a button in a mail. Whoever has it may
   * send. The same in every attempt. It is served by `createEventHandler`; throws `configuration` if the server has no `eventsUrl`.
   *
   * ```ts
   * const approval = task.waitForEvent("approval", "approved");
   * await task.step("mail", () => sendMail(`Approve: ${approval.url}`));
   * const { by } = await approval;
   * ```
   */
  readonly url: string;
}

/** A tool that may declare events. */
interface Declaring {
  readonly name: string;
  readonly events?: EventSchemas | undefined;
}

/** Throws `configuration` where a handler waits for an event that its tool does not declare. */
export function assertAwaitable(tool: Declaring, event: string): void {
  const problem = nameProblem(tool, event);
  if (problem !== undefined) throw new HoldfastError("configuration", problem);
}

/** Throws `invalid_params` for an event that the tool does not declare, or whose value does not fit. */
export async function assertSendable(
  tool: Declaring | undefined,
  event: string,
  value: unknown,
): Promise<void> {
  if (tool?.events === undefined) return;
  const problem = nameProblem(tool, event) ?? (await judged(tool.events, event, value)).problem;
  if (problem !== undefined) throw new HoldfastError("invalid_params", problem);
}

/** What a handler gets of an event. Rejects with `input_failed` if its sender had no such schema, and the value does not fit. */
export async function receivedEvent(declared: EventSchemas, event: string, value: unknown): Promise<unknown> {
  const { problem, value: received } = await judged(declared, event, value);
  if (problem === undefined) return received;
  throw new HoldfastError("input_failed", problem);
}

function nameProblem({ name, events }: Declaring, event: string): string | undefined {
  if (events === undefined || Object.hasOwn(events, event)) return undefined;
  const names = Object.keys(events).map((each) => JSON.stringify(each));
  return `Tool "${name}" declares no event ${JSON.stringify(event)}, but ${names.join(", ")}.`;
}

async function judged(
  declared: EventSchemas,
  event: string,
  value: unknown,
): Promise<{ readonly problem?: string; readonly value?: unknown }> {
  const checked = await declared[event]?.["~standard"].validate(value);
  if (checked === undefined) return { value };
  if (checked.issues === undefined) return { value: checked.value };
  return {
    problem: `The value of the event "${event}" does not fit its schema: ${describeIssues(checked.issues)}.`,
  };
}

const longest = 255;

/** Throws for an invalid name of an event, and for one too long for an index. */
export function assertEventName(name: unknown): void {
  assertText(name, "The name of an event");
}

/** The same for a `dedupeId`. */
export function assertDedupeId(dedupeId: unknown): void {
  assertText(dedupeId, "The dedupeId of an event");
}

function assertText(text: unknown, what: string): void {
  if (typeof text !== "string" || text === "") {
    throw new TypeError(`${what} must be a non-empty string${text === "" ? "" : `, not ${typeof text}`}.`);
  }
  if (text.length <= longest) return;
  throw new HoldfastError("too_large", `${what} is longer than ${longest} characters.`);
}
