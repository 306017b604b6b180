import { escaped, type PromptOption, type Prompts } from "../prompts.ts";
import { sanitizeLine } from "../text.ts";
import type {
  BooleanField,
  ChoiceField,
  ChoicesField,
  FieldValue,
  FormField,
  NumberField,
  TextField,
} from "./question-text.ts";
import { losesDigits } from "../../arguments/parse-arguments.ts";

/** The answer for one field; `undefined` leaves the field out. */
export type FieldAnswer = FieldValue | undefined | typeof escaped;

/** Asks for the value of one field. `before` is the previous answer, to edit it. */
async function askField(
  field: FormField,
  before: FieldValue | undefined,
  prompts: Prompts,
  signal: AbortSignal,
): Promise<FieldAnswer> {
  switch (field.kind) {
    case "text":
      return askText(field, typeof before === "string" ? before : undefined, prompts, signal);
    case "number":
      return askNumber(field, typeof before === "number" ? before : undefined, prompts, signal);
    case "boolean":
      return askBoolean(field, before, prompts, signal);
    case "choice":
      return askChoice(field, before, prompts, signal);
    case "choices":
      return askChoices(field, before, prompts, signal);
    case "unknown":
      return undefined;
  }
}

/** The label of a field: its title, limits and description. */
function labelOf(field: FormField, limits?: string): string {
  const notes = [field.required ? undefined : "optional", limits].filter((note) => note !== undefined);
  const name = sanitizeLine(field.title, 200);
  const label = notes.length === 0 ? name : `${name} (${sanitizeLine(notes.join("; "), 200)})`;
  return field.description === undefined ? label : `${label}: ${sanitizeLine(field.description, 500)}`;
}

const needed = "This field is required.";

async function askText(
  field: TextField,
  before: string | undefined,
  prompts: Prompts,
  signal: AbortSignal,
): Promise<FieldAnswer> {
  const check = (text: string): string | undefined => {
    if (text === "") return field.required ? needed : undefined;
    return checkText(text, field);
  };
  // The default is sanitized too, so that the user sees what is sent.
  const initial = sanitizeLine(before ?? field.default ?? "");
  const text = await prompts.text(labelOf(field, limitsOf(field)), initial, check, signal);
  return text === "" ? undefined : text;
}

async function askNumber(
  field: NumberField,
  before: number | undefined,
  prompts: Prompts,
  signal: AbortSignal,
): Promise<FieldAnswer> {
  const check = (text: string): string | undefined => {
    if (text.trim() === "") return field.required ? needed : undefined;
    return checkNumber(text, field);
  };
  const initial = String(before ?? field.default ?? "");
  const text = await prompts.text(labelOf(field, limitsOf(field)), initial, check, signal);
  return text === escaped ? escaped : numberFrom(text);
}

const leftOut = { value: "-", label: "no answer" } as const;

async function askBoolean(
  field: BooleanField,
  before: unknown,
  prompts: Prompts,
  signal: AbortSignal,
): Promise<FieldAnswer> {
  const options = [
    { value: "yes", label: "Yes" },
    { value: "no", label: "No" },
    ...(field.required ? [] : [leftOut]),
  ] as const;
  const known = before ?? field.default;
  const initial =
    known === undefined ? (field.required ? "no" : leftOut.value) : known === true ? "yes" : "no";
  const answer = await prompts.choose(labelOf(field), options, initial, signal);
  if (answer === escaped) return escaped;
  return answer === leftOut.value ? undefined : answer === "yes";
}

/** The options of a field, with indexes as values: the server's values can be equal. */
function optionsOf({
  choices,
}: ChoiceField | ChoicesField): { value: string; label: string; hint?: string }[] {
  return choices.map(({ value, title }, index) => {
    const label = sanitizeLine(title, 200);
    const shown = sanitizeLine(value, 200);
    // Shows the value too if the title differs.
    return { value: String(index), label, ...(shown === label ? {} : { hint: shown }) };
  });
}

async function askChoice(
  field: ChoiceField,
  before: unknown,
  prompts: Prompts,
  signal: AbortSignal,
): Promise<FieldAnswer> {
  const { choices, required } = field;
  const options = [...optionsOf(field), ...(required ? [] : [leftOut])];
  const known = choices.findIndex(({ value }) => value === (before ?? field.default));
  const initial = known >= 0 ? String(known) : required ? "0" : leftOut.value;
  const answer = await prompts.choose(labelOf(field), options, initial, signal);
  return answer === escaped ? escaped : choices[Number(answer)]?.value;
}

async function askChoices(
  field: ChoicesField,
  before: unknown,
  prompts: Prompts,
  signal: AbortSignal,
): Promise<FieldAnswer> {
  const { choices, required, minItems = 0 } = field;
  const label = labelOf(field, limitsOf(field));
  const known: readonly unknown[] = Array.isArray(before) ? before : (field.default ?? []);
  let chosen = choices.flatMap(({ value }, index) => (known.includes(value) ? [String(index)] : []));
  for (let problem: string | undefined; ;) {
    const message = problem === undefined ? label : `${problem}\n${label}`;
    const answer = await prompts.chooseSeveral(message, optionsOf(field), chosen, signal);
    if (answer === escaped) return escaped;
    chosen = choices.flatMap((_choice, index) => (answer.includes(String(index)) ? [String(index)] : []));
    // Nothing chosen leaves the field out, unless the user cleared a default.
    if (chosen.length === 0 && !required && (minItems > 0 || field.default === undefined)) return undefined;
    problem = checkChoices(chosen, field);
    if (problem === undefined) return chosen.flatMap((index) => choices[Number(index)]?.value ?? []);
  }
}

/** Why `text` is not valid for the field, as a sentence; undefined if it is. */
export function checkText(text: string, field: TextField): string | undefined {
  const { minLength = 0, maxLength = Infinity, format = "" } = field;
  const length = Array.from(text).length; // JSON Schema counts code points
  if (length < minLength) return `Enter at least ${count(minLength, "character")}; this has ${length}.`;
  if (length > maxLength) return `Enter at most ${count(maxLength, "character")}; this has ${length}.`;
  const rule = formats.get(format);
  return rule === undefined || rule.test(text) ? undefined : rule.problem;
}

/** The same for a number. */
export function checkNumber(text: string, field: NumberField): string | undefined {
  const value = numberFrom(text);
  if (value === undefined) return "Enter a number.";
  const { integer, minimum = -Infinity, maximum = Infinity } = field;
  if (integer && !Number.isInteger(value)) return "Enter a whole number.";
  // A number with too many digits would change as a JSON number.
  if (losesDigits(text.trim()) || (integer && !Number.isSafeInteger(value)))
    return "This number is too long to be sent exactly.";
  if (value < minimum) return `Enter ${minimum} or more.`;
  if (value > maximum) return `Enter ${maximum} or less.`;
  return undefined;
}

/** The same for the number of choices. */
export function checkChoices(chosen: readonly string[], field: ChoicesField): string | undefined {
  const { minItems = 0, maxItems = Infinity } = field;
  if (chosen.length < minItems) return `Choose at least ${minItems}; you chose ${chosen.length}.`;
  if (chosen.length > maxItems) return `Choose at most ${maxItems}; you chose ${chosen.length}.`;
  return undefined;
}

/** Parses a JSON number, with spaces around it. */
export function numberFrom(text: string): number | undefined {
  if (!/^\s*-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?\s*$/.test(text)) return undefined;
  const value = Number(text);
  return Number.isFinite(value) ? value : undefined;
}

/** Describes a field's limits, if it has any. */
export function limitsOf(field: TextField | NumberField | ChoicesField): string | undefined {
  switch (field.kind) {
    case "text": {
      const length = range(field.minLength, field.maxLength);
      const format =
        field.format === undefined ? undefined : (formats.get(field.format)?.name ?? field.format);
      const pattern = field.pattern === undefined ? undefined : `pattern ${field.pattern}`;
      return joined(format, length === undefined ? undefined : `${length} characters`, pattern);
    }
    case "number":
      return joined(field.integer ? "whole number" : "number", range(field.minimum, field.maximum));
    case "choices":
      return joined(range(field.minItems, field.maxItems));
  }
}

function joined(...parts: readonly (string | undefined)[]): string | undefined {
  const limits = parts.filter((part) => part !== undefined);
  return limits.length === 0 ? undefined : limits.join(", ");
}

function range(low: number | undefined, high: number | undefined): string | undefined {
  if (low !== undefined && high !== undefined) return low === high ? `exactly ${low}` : `${low} to ${high}`;
  if (low !== undefined) return `at least ${low}`;
  return high === undefined ? undefined : `at most ${high}`;
}

const count = (number: number, noun: string): string => `${number} ${noun}${number === 1 ? "" : "s"}`;

interface Format {
  readonly name: string;
  readonly problem: string;
  test(text: string): boolean;
}

/** The formats of elicitation. */
const formats: ReadonlyMap<string, Format> = new Map([
  [
    "email",
    {
      name: "email address",
      problem: "Enter an email address, such as ann@example.com.",
      test: (text: string) => /^[^\s@]+@[^\s@]+\.[^\s@]+$/.test(text),
    },
  ],
  [
    "uri",
    {
      name: "URI",
      problem: "Enter a full URL, such as https://example.com/page.",
      test: (text: string) => !/\s/.test(text) && URL.canParse(text),
    },
  ],
  ["date", { name: "date, YYYY-MM-DD", problem: "Enter a date, such as 2026-07-28.", test: isDate }],
  [
    "date-time",
    {
      name: "date and time, such as 2026-07-28T14:30:00Z",
      problem:
        "Enter a date and time with its zone, such as 2026-07-28T14:30:00Z or 2026-07-28T14:30:00+02:00.",
      test: isDateTime,
    },
  ],
]);

const timeOfDay =
  /^(?:[01]\d|2[0-3]):[0-5]\d:(?:[0-5]\d|60)(?:\.\d+)?(?:[Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/;

function isDateTime(text: string): boolean {
  const [, date = "", time = ""] = /^(.{10})[Tt ](.+)$/.exec(text) ?? [];
  return isDate(date) && timeOfDay.test(time);
}

/** `Date` alone accepts 30 February as 2 March. */
function isDate(text: string): boolean {
  if (!/^\d{4}-\d\d-\d\d$/.test(text)) return false;
  const date = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text);
}

/** The user's answer to a form. `later` leaves the question open. */
export type FormAnswer =
  | { readonly action: "accept"; readonly content: Record<string, FieldValue> }
  | { readonly action: "decline" | "cancel" | "later" };

type FormChoice = "send" | "change" | "back" | "decline" | "cancel" | "later";

interface Menu {
  readonly message: string;
  /** Enter selects the first. */
  readonly choices: readonly PromptOption<FormChoice>[];
}

interface FormOptions {
  readonly prompts: Prompts;
  /** Why the form cannot be sent, as a sentence; undefined if it can. */
  readonly obstacle: string | undefined;
  /** Whether the question may be left open. */
  readonly canWait: boolean;
  readonly signal: AbortSignal;
}

/**
 * Asks for each field, then shows the answers and asks whether to send them. Escape on a field opens the menu to
 * leave the form. Rejects with the signal's reason.
 */
export async function askForm(
  fields: readonly FormField[],
  { prompts, obstacle, canWait, signal }: FormOptions,
): Promise<FormAnswer> {
  const values = new Map<string, FieldValue>();
  for (let next = obstacle === undefined ? 0 : fields.length; ;) {
    const field = fields[next];
    if (field !== undefined) {
      const value = await askField(field, values.get(field.key), prompts, signal);
      if (value !== escaped) {
        if (value === undefined) values.delete(field.key);
        else values.set(field.key, value);
        next++;
        continue;
      }
    }
    const menu =
      field !== undefined
        ? inside
        : obstacle !== undefined
          ? { message: obstacle, choices: [] }
          : atEnd(fields, values);
    const choices = [...menu.choices, ...exitChoices.filter(({ value }) => canWait || value !== "later")];
    const choice = await prompts.choose(menu.message, choices, choices[0]?.value ?? "cancel", signal);
    if (choice === "send") return { action: "accept", content: Object.fromEntries(values) };
    if (choice === "decline" || choice === "cancel" || choice === "later") return { action: choice };
    if (choice === "change") next = 0;
  }
}

const exitChoices: Menu["choices"] = [
  { value: "decline", label: "Decline", hint: "tells the server that you decline" },
  { value: "cancel", label: "Dismiss", hint: "tells the server that you made no choice" },
  { value: "later", label: "Leave open", hint: "answer it later" },
];

const inside: Menu = { message: "Leave the form?", choices: [{ value: "back", label: "Back to the form" }] };

function atEnd(fields: readonly FormField[], values: ReadonlyMap<string, FieldValue>): Menu {
  if (fields.length === 0) return { message: "Accept?", choices: [{ value: "send", label: "Accept" }] };
  const lines = fields.map((field) => {
    return `${sanitizeLine(field.title, 200)}: ${shownValue(field, values.get(field.key))}`;
  });
  return {
    message: ["Send this?", ...lines].join("\n"),
    choices: [
      { value: "send", label: "Send" },
      { value: "change", label: "Change something" },
    ],
  };
}

function shownValue(field: FormField, value: FieldValue | undefined): string {
  if (value === undefined) return "–";
  if (typeof value === "boolean") return value ? "yes" : "no";
  const choices = field.kind === "choice" || field.kind === "choices" ? field.choices : [];
  const titles = [value].flat().map((item) => choices.find(({ value: own }) => own === item)?.title ?? item);
  return sanitizeLine(titles.join(", "), 500);
}
