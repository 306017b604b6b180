import type { CallerDetails } from "../../task/record.ts";
import type { LineList } from "../../task/task-line.ts";

/** Seals or opens all texts of a value. */
export interface Texts {
  /** Of what a task was given and came to. May throw. */
  readonly body: (text: string) => string;
  /** Of what a record says of its task, which is read wherever tasks are: it does not throw when it is opened. */
  readonly words: (text: string) => string;
  /** Of why an attempt ended, which is a text of its record once more. */
  readonly attemptError: (text: string) => string;
  /** The end of an entry that failed: the store itself may have put a body into it, that of a task that was called. */
  readonly failure: (text: string) => string;
  readonly lineBody: (text: string, list: LineList) => string;
  /** They stay an object. */
  readonly caller: (caller: CallerDetails) => CallerDetails;
}

/** Says which texts of a `T` are sealed: makes the same of it with other texts. */
export type Form<T> = (value: T, texts: Texts) => T;

/** A form for each member of a `T`, so that a new one has to be given one; members that are null or left out stay so. */
export type Members<T> = { readonly [K in keyof T]-?: Form<NonNullable<T[K]>> };

/** Nothing in it is sealed. */
export const clear = <T>(value: T): T => value;

export const body: Form<string> = (text, texts) => texts.body(text);
export const words: Form<string> = (text, texts) => texts.words(text);
export const attemptError: Form<string> = (text, texts) => texts.attemptError(text);
export const failure: Form<string> = (text, texts) => texts.failure(text);

/** An object with converted members, or the object itself if none of them changes. */
export function members<T extends object>(forms: Members<T>): Form<T> {
  const sealed = entriesOf(forms).filter(([, form]) => form !== clear);
  if (sealed.length === 0) return clear;
  return (value, texts) => {
    let changed: T | undefined;
    for (const [key, form] of sealed) {
      const member = value[key];
      if (member === undefined || member === null) continue;
      const next = form(member, texts);
      if (next !== member) changed = { ...(changed ?? value), [key]: next };
    }
    return changed ?? value;
  };
}

/** `Object.entries` with the types of the keys. */
function entriesOf<T>(forms: Members<T>): readonly (readonly [keyof T, Form<NonNullable<T[keyof T]>>])[] {
  return Object.entries(forms) as unknown as readonly (readonly [keyof T, Form<NonNullable<T[keyof T]>>])[];
}

/** A list of such. */
export function each<T>(form: Form<T>): Form<readonly T[]> {
  if (form === clear) return clear;
  return (values, texts) => values.map((value) => form(value, texts));
}
