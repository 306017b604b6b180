import * as z from "zod/mini";

// What operators send and see is declared once, as a class whose members are set to their schemas:
//
//   class DeclaredWebhookBacklog {
//     readonly webhook = member(text);
//     /** Messages given up after three days. */
//     readonly givenUp = member(whole);
//   }
//
//   export interface WebhookBacklog extends DeclaredWebhookBacklog {}
//
//   export const webhookBacklog = shown<WebhookBacklog>("WebhookBacklog", DeclaredWebhookBacklog);
//
// Callers see an interface with the type and the comment of each member, as they do for options (`tableOf`). Checks of requests, the
// endpoint's OpenAPI document and the shapes of `--json` come from the schemas. No caller gets an instance of such a class.

export type Schema<T = unknown> = z.ZodMiniType<T>;

/** The schemas of an object, by its members. */
export type Members<T> = { readonly [Name in keyof T]-?: Schema<T[Name] | undefined> };

/** The names of shapes in the OpenAPI document. */
export const shapeNames = z.registry<{ readonly id: string }>();

/** Members that contain what callers, handlers and files say, and what those who may not see that are shown in their place. */
export const hiddenContent = z.registry<{ readonly shows: unknown }>();

/** A schema of arguments, results or texts of tasks. `shows` is a value of the same type. */
export function content<T>(schema: Schema<T>, shows: T): Schema<T> {
  const own = schema.clone();
  hiddenContent.add(own, { shows });
  return own;
}

/** Declares a member: what its schema describes is its type. */
export function member<T>(schema: Schema<T>): T {
  return schema as unknown as T;
}

/** Declares a member that may be left out. */
export function optional<T>(schema: Schema<T>): T {
  return z.optional(schema) as unknown as T;
}

export function membersOf<T extends object>(declared: new () => T): Members<T> {
  return { ...new declared() } as unknown as Members<T>;
}

/** What operators get. */
export function shown<T extends object>(name: string, declared: new () => T): Schema<T> {
  return z.object(membersOf(declared)).register(shapeNames, { id: name }) as unknown as Schema<T>;
}

/** What operators send. A member that it does not have is a mistake. */
export function sent<T extends object>(name: string, declared: new () => T): Schema<T> {
  return z.strictObject(membersOf(declared)).register(shapeNames, { id: name }) as unknown as Schema<T>;
}

/** A schema with words for those who read the OpenAPI document. */
export function described<S extends Schema>(schema: S, words: string): S {
  return schema.check(z.describe(words));
}

export const text = z.string();
export const nonEmpty = text.check(z.minLength(1));
export const textOrNull = z.nullable(text);
export const flag = z.boolean();
export const number = z.number();
export const numberOrNull = z.nullable(number);
export const contentOrNull = content(textOrNull, null);
export const whole = z.int();
export const wholeOrNull = z.nullable(whole);
export const time = described(z.int(), "Epoch milliseconds.");
export const timeOrNull = z.nullable(time);
export const behindMs = described(
  z.int(),
  "How far the replica was behind that this was read from (ms). Left out if it was read from the store itself.",
);
export const byMinute = described(z.array(whole), "A number for each minute, the oldest first.");

/** From 1 to `most`; `usual` if it is left out. */
export function countUpTo(most: number, usual: number, description: string): Schema<number> {
  return z.int().check(z.gte(1), z.lte(most), z.meta({ description, default: usual }));
}

export function list<T>(of: Schema<T>): Schema<readonly T[]> {
  return z.array(of);
}
