import * as z from "zod/mini";
import { HoldfastError } from "../task/fault.ts";
import { hiddenContent, type Schema } from "./shape.ts";

/** Least first. */
export const roles = ["view", "read", "act", "admin"] as const;

/**
 * What an operator may do, least first: each role may do what those before it may.
 * - `view` sees which tasks there are and how they are, but no arguments, results, or texts of tasks.
 * - `read` sees everything.
 * - `act` cancels, retries, answers, pauses, and keeps tasks for longer.
 * - `admin` also deletes, drains processes and ends other operators' sessions.
 */
export type OperatorRole = (typeof roles)[number];

/** The role that an operation needs. */
export interface Guarded {
  /** The operation's id for programs. */
  readonly id: string;
  /** What an operator of an endpoint needs for it at least. Programs with the store open need none. */
  readonly role: OperatorRole;
  /** What some inputs need instead. */
  readonly roleFor?: (input: Readonly<Record<string, unknown>>, now: number) => OperatorRole | undefined;
}

const dayMs = 86_400_000;

/** What is to be kept for less than a day more is as good as deleted. */
export function roleForEnd(until: unknown, now: number): OperatorRole | undefined {
  return typeof until === "number" && until < now + dayMs ? "admin" : undefined;
}

/** Of a job that was previewed, the end has to be said again: what was far ahead then may be soon now. */
export function roleForExtend(options: unknown, now: number): OperatorRole | undefined {
  const { job, until } = (options ?? {}) as Readonly<Record<string, unknown>>;
  return job !== undefined && until === undefined ? "admin" : roleForEnd(until, now);
}

export function isRole(value: unknown): value is OperatorRole {
  return roles.some((role) => role === value);
}

export function includesRole(role: OperatorRole, needed: OperatorRole): boolean {
  return roles.indexOf(role) >= roles.indexOf(needed);
}

/** Throws `insufficient_scope` if the role is not enough for an operation, or for what its input asks of it. */
export function assertRole(
  role: OperatorRole,
  operation: Guarded,
  of?: { readonly input: Readonly<Record<string, unknown>>; readonly now: number },
): void {
  const needed = (of && operation.roleFor?.(of.input, of.now)) ?? operation.role;
  if (includesRole(role, needed)) return;
  const message = `This operator has the role "${role}". ${operation.id} needs the role "${needed}"${needed === operation.role ? "" : " for this request"}.`;
  throw new HoldfastError("insufficient_scope", message);
}

/** The answer of an operation, without what the role may not see. */
export function shownTo(role: OperatorRole, gives: Schema, answer: unknown): unknown {
  return includesRole(role, "read") ? answer : withoutContent(gives, answer);
}

function withoutContent(schema: Schema, value: unknown): unknown {
  const hidden = hiddenContent.get(schema);
  if (hidden !== undefined) return value === undefined ? value : hidden.shows;
  if (value === null || value === undefined) return value;
  if (schema instanceof z.ZodMiniOptional || schema instanceof z.ZodMiniNullable)
    return withoutContent(schema.def.innerType as Schema, value);
  if (Array.isArray(value) && schema instanceof z.ZodMiniArray)
    return value.map((each) => withoutContent(schema.def.element as Schema, each));
  if (typeof value !== "object" || !(schema instanceof z.ZodMiniObject)) return value;
  const members = Object.entries(value).map(([name, member]) => {
    const declared = schema.shape[name] as Schema | undefined;
    return [name, declared === undefined ? member : withoutContent(declared, member)] as const;
  });
  return Object.fromEntries(members);
}
