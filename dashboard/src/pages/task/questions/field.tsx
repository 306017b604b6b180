import type { ComponentChildren, InputHTMLAttributes, JSX } from "preact";
import { useId } from "preact/hooks";
import type { FieldKind, FieldValue, FormField } from "./form-fields.ts";

interface FieldProps {
  readonly field: FormField;
  readonly value: FieldValue;
  /** Why it was not sent. */
  readonly problem: string | undefined;
  readonly onChange: (value: FieldValue) => void;
}

/** The field's name in its form. Forms expose their fields by name, so it must not be the name of another member. */
export const controlName = ({ name }: Pick<FormField, "name">): string => `field ${name}`;

/** One field of a form, with what its question says about it. */
export function Field(props: FieldProps): JSX.Element {
  const { field, problem } = props;
  const id = useId();
  const about = `${id}-about`;
  const { title, description, hint, isRequired, kind } = field;
  const hasAbout = description !== undefined || hint !== undefined || problem !== undefined;
  const control = {
    ...props,
    id,
    attributes: {
      ...(hasAbout && { "aria-describedby": about }),
      ...(problem !== undefined && { "aria-invalid": true as const }),
    },
  };
  const texts = hasAbout && (
    <p id={about} class="about">
      {description !== undefined && <span>{description}</span>}
      {hint !== undefined && <span>{hint}</span>}
      {problem !== undefined && <span class="error">{problem}</span>}
    </p>
  );
  const name = (
    <>
      {title}
      {isRequired && <span class="faint"> (required)</span>}
    </>
  );
  if (kind === "choices") return <Choices {...control} name={name} texts={texts} />;
  if (kind === "boolean")
    return (
      <div class="field">
        <label>
          <Tick {...control} />
          {title}
        </label>
        {texts}
      </div>
    );
  return (
    <div class="field">
      <label for={id}>{name}</label>
      <Control {...control} />
      {texts}
    </div>
  );
}

interface ControlProps extends FieldProps {
  readonly id: string;
  readonly attributes: { readonly "aria-describedby"?: string; readonly "aria-invalid"?: true };
}

function Tick({ field, value, attributes, onChange }: ControlProps): JSX.Element {
  return (
    <input
      {...attributes}
      type="checkbox"
      name={controlName(field)}
      checked={value === true}
      onChange={({ currentTarget }) => onChange(currentTarget.checked)}
    />
  );
}

function Control({ field, value, id, attributes, onChange }: ControlProps): JSX.Element {
  const { kind, isRequired, options } = field;
  const common = {
    ...attributes,
    id,
    name: controlName(field),
    value: typeof value === "string" ? value : "",
  };
  const required = isRequired && { "aria-required": true as const };
  if (kind === "choice")
    return (
      <select {...common} {...required} onChange={({ currentTarget }) => onChange(currentTarget.value)}>
        <option value="">{isRequired ? "Choose…" : "None"}</option>
        {options.map(({ title }, place) => (
          <option key={place} value={String(place)}>
            {title}
          </option>
        ))}
      </select>
    );
  if (kind === "long text" || kind === "json")
    return (
      <textarea
        {...common}
        {...required}
        rows={5}
        class={kind === "json" ? "code" : ""}
        onInput={({ currentTarget }) => onChange(currentTarget.value)}
      />
    );
  return (
    <input
      {...inputs[kind]}
      {...common}
      {...required}
      onInput={({ currentTarget }) => onChange(currentTarget.value)}
    />
  );
}

const inputs: Readonly<Partial<Record<FieldKind, InputHTMLAttributes<HTMLInputElement>>>> = {
  text: { type: "text", autocomplete: "off" },
  email: { type: "email", autocomplete: "off" },
  url: { type: "url", autocomplete: "off" },
  date: { type: "date" },
  time: { type: "datetime-local", step: "1" },
  number: { type: "number", step: "any" },
  integer: { type: "number", step: "1" },
};

interface ChoicesProps extends ControlProps {
  readonly name: ComponentChildren;
  readonly texts: ComponentChildren;
}

function Choices({ field, value, attributes, name, texts, onChange }: ChoicesProps): JSX.Element {
  const chosen = typeof value === "object" ? value : [];
  const choose = (place: string, isChosen: boolean): void =>
    onChange(isChosen ? [...chosen, place] : chosen.filter((each) => each !== place));
  return (
    <fieldset {...(attributes["aria-describedby"] && { "aria-describedby": attributes["aria-describedby"] })}>
      <legend>{name}</legend>
      {field.options.map(({ title }, at) => (
        <label key={at}>
          <input
            type="checkbox"
            name={controlName(field)}
            checked={chosen.includes(String(at))}
            onChange={({ currentTarget }) => choose(String(at), currentTarget.checked)}
          />
          {title}
        </label>
      ))}
      {texts}
    </fieldset>
  );
}
