import { escaped, type PromptOption, type Prompts } from "../prompts.ts";
import { sanitizeLine } from "../sanitize.ts";
import { askField } from "./ask-field.ts";
import type { FieldValue, FormField } from "./form-field.ts";

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
    return `${sanitizeLine(field.title, 200)}: ${shown(field, values.get(field.key))}`;
  });
  return {
    message: ["Send this?", ...lines].join("\n"),
    choices: [
      { value: "send", label: "Send" },
      { value: "change", label: "Change something" },
    ],
  };
}

function shown(field: FormField, value: FieldValue | undefined): string {
  if (value === undefined) return "–";
  if (typeof value === "boolean") return value ? "yes" : "no";
  const choices = field.kind === "choice" || field.kind === "choices" ? field.choices : [];
  const titles = [value].flat().map((item) => choices.find(({ value: own }) => own === item)?.title ?? item);
  return sanitizeLine(titles.join(", "), 500);
}
