/**
 * Placeholders in the texts of a tool: `{month}` is an argument, and `{job/id}` what the JSON pointer `/id` names in the value `job`. `{{month}}` is
 * the text `{month}`. Braces around anything else stay as they are, so that JSON and `awk '{print $1}'` need no care.
 */

import { NonRetryableError } from "../runtime/tool/tool-errors.ts";
import { HoldfastError } from "../task/fault.ts";
import { didYouMean } from "../task/option-names.ts";

/** The values that placeholders can name. */
export type Scope = Readonly<Record<string, unknown>>;

interface Placeholder {
  readonly name: string;
  /** The pointer, empty for all of the value. */
  readonly pointer: string;
}

const pattern = /\{(\{[A-Za-z_][\w-]*(?:\/[^{}\s]*)?\})\}|\{([A-Za-z_][\w-]*)((?:\/[^{}\s]*)?)\}/g;

const whole = /^\{([A-Za-z_][\w-]*)((?:\/[^{}\s]*)?)\}$/;

/** The placeholder that is all of a text; its value keeps its type. */
export function onlyPlaceholder(template: string): Placeholder | undefined {
  const [, name, pointer = ""] = whole.exec(template) ?? [];
  return name === undefined ? undefined : { name, pointer };
}

/** The placeholders in a text, or in all texts of JSON data. */
export function placeholdersIn(template: unknown): readonly Placeholder[] {
  if (typeof template === "string")
    return [...template.matchAll(pattern)].flatMap(([, , name, pointer = ""]) =>
      name === undefined ? [] : [{ name, pointer }],
    );
  if (typeof template !== "object" || template === null) return [];
  return Object.values(template).flatMap(placeholdersIn);
}

/** The text with the values of its placeholders; nothing stands for a value that is missing. */
export function filledOrEmpty(template: string, scope: Scope): string {
  return template.replace(pattern, (match, literal?: string, name?: string, pointer: string = "") =>
    name === undefined ? (literal ?? match) : textOf(valueOf({ name, pointer }, scope) ?? ""),
  );
}

/** The text with the values of its placeholders, each as `write` has it; undefined if a value is missing. */
export function filled(
  template: string,
  scope: Scope,
  write: (value: unknown) => string = textOf,
): string | undefined {
  let isMissing = false;
  const text = template.replace(pattern, (match, literal?: string, name?: string, pointer: string = "") => {
    if (name === undefined) return literal ?? match;
    const value = valueOf({ name, pointer }, scope);
    if (value === undefined || value === null) isMissing = true;
    return write(value ?? "");
  });
  return isMissing ? undefined : text;
}

/** The same for JSON data. A text that is one placeholder becomes its value, of any type; members and items without a value are left out. */
export function filledJson(template: unknown, scope: Scope): unknown {
  if (typeof template === "string") {
    const only = onlyPlaceholder(template);
    return only === undefined ? filled(template, scope) : valueOf(only, scope);
  }
  if (Array.isArray(template))
    return template.map((each) => filledJson(each, scope)).filter((each) => each !== undefined);
  if (typeof template !== "object" || template === null) return template;
  const members = Object.entries(template).map(([name, each]) => [name, filledJson(each, scope)] as const);
  return Object.fromEntries(members.filter(([, value]) => value !== undefined));
}

export function valueOf({ name, pointer }: Placeholder, scope: Scope): unknown {
  return at(Object.hasOwn(scope, name) ? scope[name] : undefined, pointer);
}

/** What a JSON pointer (RFC 6901) names in a value; undefined if there is nothing. */
export function at(value: unknown, pointer: string): unknown {
  const names = pointer.split("/").slice(1);
  return names.reduce<unknown>((parent, name) => {
    const key = name.replaceAll("~1", "/").replaceAll("~0", "~");
    const isThere = typeof parent === "object" && parent !== null && Object.hasOwn(parent, key);
    return isThere ? (parent as Record<string, unknown>)[key] : undefined;
  }, value);
}

/** A value as it stands in a text: JSON, unless it is a text itself. Throws for what UTF-8 cannot have: it would become another text. */
export function textOf(value: unknown): string {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  if (text.isWellFormed()) return text;
  const begin = JSON.stringify(text.slice(0, 50));
  throw new NonRetryableError(`A text has half of a character (in UTF-16), and cannot be sent: ${begin}.`);
}

/** Throws `configuration` if a template names a value that it will not have. */
export function assertPlaceholders(what: string, template: unknown, names: readonly string[]): void {
  const unknown = placeholdersIn(template).find(({ name }) => !names.includes(name));
  if (unknown === undefined) return;
  const known = names.length === 0 ? "There are no values here" : `There are ${names.join(", ")}`;
  throw new HoldfastError(
    "configuration",
    `${what}: {${unknown.name}${unknown.pointer}} names no argument.${didYouMean(unknown.name, names)} ${known}; for the braces themselves, write {{${unknown.name}}}.`,
  );
}
