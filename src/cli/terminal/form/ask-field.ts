import { escaped, type Prompts } from "../prompts.ts";
import { sanitizeLine } from "../sanitize.ts";
import { checkChoices, checkNumber, checkText, limitsOf, numberFrom } from "./check-value.ts";
import type {
  BooleanField,
  ChoiceField,
  ChoicesField,
  FieldValue,
  FormField,
  NumberField,
  TextField,
} from "./form-field.ts";

/** The answer for one field; `undefined` leaves the field out. */
export type FieldAnswer = FieldValue | undefined | typeof escaped;

/** Asks for the value of one field. `before` is the previous answer, to edit it. */
export async function askField(
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
