import { NonRetryableError } from "../../runtime/tool/tool-errors.ts";
import { HoldfastError } from "../../task/fault.ts";
import { assertPlaceholders, filled, onlyPlaceholder, textOf, valueOf, type Scope } from "../template.ts";

/**
 * One argument of a command: a text with placeholders. A list is left out as a whole if one of its values is missing, as `["--width", "{width}"]` is.
 * `{ if: "verbose", args: ["-v"] }` is there if the argument `verbose` is true.
 */
export type ArgvItem = string | readonly string[] | { readonly if: string; readonly args: readonly string[] };

/** Throws `configuration` if an item names what is no argument, or the program depends on one. */
export function assertArgv(what: string, argv: readonly ArgvItem[], names: readonly string[]): void {
  for (const item of argv) {
    if (typeof item === "object" && "if" in item) assertPlaceholders(what, `{${item.if}}`, names);
    assertPlaceholders(what, item, names);
  }
  const [program] = argv;
  if (typeof program !== "string" || program === "" || program.startsWith("-") || /\{[A-Za-z_]/.test(program))
    throw new HoldfastError(
      "configuration",
      `${what}: a command begins with the name or the path of a program, which depends on no argument.`,
    );
}

/**
 * The arguments of a call, each a text of its own that no shell reads. Throws for a text that the program would take for an option,
 * because it begins with a hyphen where nothing but the value stands.
 */
export function argvOf(argv: readonly ArgvItem[], scope: Scope): readonly string[] {
  const words: string[] = [];
  for (const item of argv) {
    if (typeof item === "string") words.push(...wordsOf(item, scope, words));
    else if ("if" in item) {
      if (scope[item.if] === true) for (const each of item.args) words.push(...wordsOf(each, scope, words));
    } else if (item.every((each) => filled(each, scope) !== undefined))
      for (const each of item) words.push(...wordsOf(each, scope, words));
  }
  return words;
}

/** A list becomes one word for each of its items. */
function wordsOf(template: string, scope: Scope, before: readonly string[]): readonly string[] {
  const only = onlyPlaceholder(template);
  const value = only && valueOf(only, scope);
  const texts = Array.isArray(value)
    ? value.map(textOf)
    : [filled(template, scope)].filter((each) => each !== undefined);
  for (const text of texts) assertNoNul(text);
  const mayBeOption =
    template.startsWith("{") &&
    !template.startsWith("{{") &&
    typeof value !== "number" &&
    !before.includes("--");
  const option = mayBeOption ? texts.find((text) => text.startsWith("-")) : undefined;
  if (option === undefined) return texts;
  const name = only?.name ?? /^\{([\w-]+)/.exec(template)?.[1];
  throw new NonRetryableError(
    `The argument "${name}" begins with a hyphen, and ${before[0]} could take it for an option. Write it differently, as a path with ./ in front of it.`,
  );
}

/** Throws for a text that no program can get as an argument or a variable. */
export function assertNoNul(text: string): void {
  if (text.includes("\0"))
    throw new NonRetryableError(
      "An argument of the call has a NUL character, which no program can be given.",
    );
}
