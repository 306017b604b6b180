import type { JSX } from "preact";
import { useRef, useState } from "preact/hooks";
import { useAct } from "../../../live/use-act.ts";
import { Problem } from "../../../parts/problem.tsx";
import type { Answering } from "./answering.ts";
import { controlName, Field } from "./field.tsx";
import { contentOf, initialValues } from "./form-content.ts";
import { fieldsOf, type FieldValue, type FormField } from "./form-fields.ts";

interface ElicitationFormProps extends Answering {
  readonly schema: unknown;
  /** False if only consent is asked for. */
  readonly hasContent: boolean;
}

/** The field for a question without fields: the whole answer as JSON. */
const wholeName = "content";
const whole: FormField = {
  name: wholeName,
  title: "Content",
  description: undefined,
  kind: "json",
  isRequired: true,
  hint: "As JSON.",
  options: [],
  initial: "{}",
};

const none: ReadonlyMap<string, string> = new Map();

/** A form for a question. The server validates the answer, and a refusal keeps what was typed. */
export function ElicitationForm({
  name,
  schema,
  hasContent,
  answer,
  onTyped,
}: ElicitationFormProps): JSX.Element {
  // From the question as first shown: it never changes, and the typed values belong to these fields.
  const [given] = useState(() => fieldsOf(schema));
  const fields = given ?? [whole];
  const [values, setValues] = useState(() => initialValues(fields));
  const [problems, setProblems] = useState(none);
  const { isBusy, error, run } = useAct();
  const form = useRef<HTMLFormElement>(null);

  const type = (field: string, value: FieldValue): void => {
    onTyped();
    setValues((before) => new Map([...before, [field, value]]));
  };
  const accept = (): void => {
    const { content, problems: found } = contentOf(fields, values);
    const all = new Map([...found, ...halfTyped(form.current, fields)]);
    setProblems(all);
    const [first] = all.keys();
    if (first !== undefined) {
      focusOn(form.current, first);
      return;
    }
    const sent = given === undefined ? content[wholeName] : content;
    void run(() => answer(hasContent ? { action: "accept", content: sent } : { action: "accept" }));
  };
  const refuse = (action: "decline" | "cancel"): void => {
    setProblems(none);
    void run(() => answer({ action }));
  };

  return (
    <form
      ref={form}
      noValidate
      aria-label={`Answer ${name}`}
      onSubmit={(event) => {
        event.preventDefault();
        accept();
      }}
    >
      {fields.map((field) => (
        <Field
          key={field.name}
          field={field}
          value={values.get(field.name) ?? field.initial}
          problem={problems.get(field.name)}
          onChange={(value) => type(field.name, value)}
        />
      ))}
      {error !== undefined && <Problem error={error} />}
      <div class="buttons">
        <button type="button" class="quiet" disabled={isBusy} onClick={() => refuse("cancel")}>
          Cancel
        </button>
        <button type="button" class="quiet" disabled={isBusy} onClick={() => refuse("decline")}>
          Decline
        </button>
        <button type="submit" disabled={isBusy}>
          Accept
        </button>
      </div>
    </form>
  );
}

/** Browsers show an incomplete date or number, but report no value for it. */
function halfTyped(
  form: HTMLFormElement | null,
  fields: readonly FormField[],
): readonly (readonly [field: string, problem: string])[] {
  return fields.flatMap((field) => {
    const input = form?.elements.namedItem(controlName(field));
    if (!(input instanceof HTMLInputElement) || !input.validity.badInput) return [];
    return [[field.name, input.validationMessage || "This value is incomplete."]] as const;
  });
}

function focusOn(form: HTMLFormElement | null, name: string): void {
  const field = form?.elements.namedItem(controlName({ name }));
  const control = field instanceof RadioNodeList ? field[0] : field;
  if (control instanceof HTMLElement) control.focus();
}
