import { escaped, type PromptOption, type Prompts } from "../prompts.ts";
import { sanitizeLine } from "../sanitize.ts";
import { askField } from "./ask-field.ts";
import type { FieldValue, FormField } from "./form-field.ts";

/** What a person made of a form. `later` leaves the question open. */
export type FormAnswer =
  | { readonly action: "accept"; readonly content: Record<string, FieldValue> }
  | { readonly action: "decline" | "cancel" | "later" };

type Way = "send" | "change" | "back" | "decline" | "cancel" | "later";

interface Menu {
  readonly message: string;
  /** The first is the one that Enter takes. */
  readonly ways: readonly PromptOption<Way>[];
}

interface FormOptions {
  readonly prompts: Prompts;
  /** Why nothing can be sent, in a sentence; undefined where something can. */
  readonly obstacle: string | undefined;
  /** Whether the question can be left open. */
  readonly canWait: boolean;
  readonly signal: AbortSignal;
}

/**
 * Asks for each field in its turn, then shows the answers and asks whether to send them. Escape leads from each field
 * to the ways out. Rejects with the signal's reason.
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
          ? { message: obstacle, ways: [] }
          : atEnd(fields, values);
    const ways = [...menu.ways, ...waysOut.filter(({ value }) => canWait || value !== "later")];
    const way = await prompts.choose(menu.message, ways, ways[0]?.value ?? "cancel", signal);
    if (way === "send") return { action: "accept", content: Object.fromEntries(values) };
    if (way === "decline" || way === "cancel" || way === "later") return { action: way };
    if (way === "change") next = 0;
  }
}

const waysOut: Menu["ways"] = [
  { value: "decline", label: "Decline", hint: "the server is told no" },
  { value: "cancel", label: "Dismiss", hint: "the server is told that nothing was chosen" },
  { value: "later", label: "Leave open", hint: "to answer it later" },
];

const inside: Menu = { message: "Leave the form?", ways: [{ value: "back", label: "Back to the form" }] };

function atEnd(fields: readonly FormField[], values: ReadonlyMap<string, FieldValue>): Menu {
  if (fields.length === 0) return { message: "Accept?", ways: [{ value: "send", label: "Accept" }] };
  const lines = fields.map((field) => {
    return `${sanitizeLine(field.title, 200)}: ${shown(field, values.get(field.key))}`;
  });
  return {
    message: ["Send this?", ...lines].join("\n"),
    ways: [
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
