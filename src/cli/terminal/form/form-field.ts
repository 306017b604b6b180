/** One of a field's values, with its label. */
export interface Choice {
  readonly value: string;
  readonly title: string;
}

interface FieldBase {
  readonly key: string;
  /** Its label; the key if the server gives no title. */
  readonly title: string;
  readonly description?: string | undefined;
  readonly required: boolean;
}

export interface TextField extends FieldBase {
  readonly kind: "text";
  /** Lengths in Unicode code points. */
  readonly minLength?: number | undefined;
  readonly maxLength?: number | undefined;
  /** "email", "uri", "date" or "date-time"; others are not checked here. */
  readonly format?: string | undefined;
  /** Shown but not checked: a server's pattern could take exponential time. */
  readonly pattern?: string | undefined;
  readonly default?: string | undefined;
}

export interface NumberField extends FieldBase {
  readonly kind: "number";
  readonly integer: boolean;
  readonly minimum?: number | undefined;
  readonly maximum?: number | undefined;
  readonly default?: number | undefined;
}

export interface BooleanField extends FieldBase {
  readonly kind: "boolean";
  readonly default?: boolean | undefined;
}

export interface ChoiceField extends FieldBase {
  readonly kind: "choice";
  readonly choices: readonly Choice[];
  readonly default?: string | undefined;
}

export interface ChoicesField extends FieldBase {
  readonly kind: "choices";
  readonly choices: readonly Choice[];
  readonly minItems?: number | undefined;
  readonly maxItems?: number | undefined;
  readonly default?: readonly string[] | undefined;
}

/** A kind of field that this version does not know. */
export interface UnknownField extends FieldBase {
  readonly kind: "unknown";
}

/** A field of an elicitation form, discriminated by `kind`. Its texts are unsanitized. */
export type FormField = TextField | NumberField | BooleanField | ChoiceField | ChoicesField | UnknownField;

/** The value of a field in an answer. */
export type FieldValue = string | number | boolean | string[];
