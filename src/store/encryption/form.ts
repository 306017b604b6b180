import type { CallerDetails } from "../../task/record.ts";
import type { LineList } from "../../task/task-line.ts";

/** Encrypts or decrypts all texts of a value. */
export interface Texts {
  /** For a task's input and results. May throw. */
  readonly body: (text: string) => string;
  /** For texts of a task's record, which is read wherever tasks are: decrypting them never throws. */
  readonly words: (text: string) => string;
  /** For the reason why an attempt ended, which is also a text of the record. */
  readonly attemptError: (text: string) => string;
  /** For the end of a failed entry, into which the store itself may have put a body: that of a called task. */
  readonly failure: (text: string) => string;
  readonly lineBody: (text: string, list: LineList) => string;
  /** The result is still an object. */
  readonly caller: (caller: CallerDetails) => CallerDetails;
}

/** Defines which texts of a `T` are encrypted: makes the same value with converted texts. */
export type Form<T> = (value: T, texts: Texts) => T;

/** One form for each member of a `T`, so that a new member needs one too. Members that are null or left out stay so. */
export type Members<T> = { readonly [K in keyof T]-?: Form<NonNullable<T[K]>> };

/** Encrypts nothing. */
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

/** A form for lists. */
export function each<T>(form: Form<T>): Form<readonly T[]> {
  if (form === clear) return clear;
  return (values, texts) => values.map((value) => form(value, texts));
}
