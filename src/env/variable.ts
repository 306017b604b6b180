import type { Kind } from "./kind.ts";

export const prefix = "HOLDFAST_";

/** An environment variable that Holdfast reads. */
export interface Variable<T> {
  readonly name: string;
  readonly kind: Kind<T>;
  readonly meaning: string;
  /** The default as it would be written; empty if there is none. */
  readonly default: string;
  /** A secret appears in no message, and can be in the file that `NAME_FILE` names. */
  readonly isSecret: boolean;
}

type Description<T> = Pick<Variable<T>, "meaning"> & Partial<Omit<Variable<T>, "kind" | "name">>;

/** A variable named after its option: `keepMs` is `HOLDFAST_KEEP`. */
export function variable<T>(option: string, kind: Kind<T>, described: Description<T>): Variable<T> {
  return { name: nameOf(option), kind, default: "", isSecret: false, ...described };
}

export function nameOf(option: string): string {
  const words = option.replace(/Ms$/, "").replace(/[A-Z]/g, (letter) => `_${letter}`);
  return `${prefix}${words.toUpperCase()}`;
}

/** The variable for a secret's file. */
export function fileNameOf({ name }: Pick<Variable<unknown>, "name">): string {
  return `${name}_FILE`;
}
