/** The kind of a form field, for the user. */
export type FieldKind =
  | "text"
  | "long text"
  | "email"
  | "url"
  | "date"
  | "time"
  | "number"
  | "integer"
  | "boolean"
  | "choice"
  | "choices"
  | "json";

interface FieldOption {
  /** Any JSON. */
  readonly value: unknown;
  readonly title: string;
}

/** The value of a field: a text, whether a box is checked, or the indexes of the chosen options. */
export type FieldValue = string | boolean | readonly string[];

export interface FormField {
  /** The property that it sets. */
  readonly name: string;
  readonly title: string;
  readonly description: string | undefined;
  readonly kind: FieldKind;
  readonly isRequired: boolean;
  /** What is accepted, in words. */
  readonly hint: string | undefined;
  /** Only for choices. */
  readonly options: readonly FieldOption[];
  readonly initial: FieldValue;
}

type Schema = Readonly<Record<string, unknown>>;

const textKinds: Readonly<Record<string, FieldKind>> = {
  email: "email",
  uri: "url",
  date: "date",
  "date-time": "time",
};

/** Texts that may be longer get a multi-line field. */
const longText = 200;

/** The fields of the flat object that a question asks for; undefined if it asks for something else, which is answered with JSON. */
export function fieldsOf(requestedSchema: unknown): readonly FormField[] | undefined {
  if (!isSchema(requestedSchema)) return undefined;
  const { type = "object", properties = {}, required } = requestedSchema;
  if (type !== "object" || !isSchema(properties)) return undefined;
  const names = Array.isArray(required) ? (required as readonly unknown[]) : [];
  return Object.entries(properties).map(([name, schema]) => fieldOf(name, schema, names.includes(name)));
}

function fieldOf(name: string, given: unknown, isRequired: boolean): FormField {
  const schema = isSchema(given) ? given : {};
  const { title, description } = schema;
  const shape = shapeOf(schema);
  return {
    name,
    title: typeof title === "string" && title !== "" ? title : name,
    description: typeof description === "string" && description !== "" ? description : undefined,
    isRequired,
    hint: hintOf(schema, shape.kind),
    ...shape,
    initial: initialOf(schema["default"], shape),
  };
}

type Shape = Pick<FormField, "kind" | "options">;

function shapeOf(schema: Schema): Shape {
  const options = optionsOf(schema);
  if (options !== undefined) return { kind: "choice", options };
  switch (schema["type"]) {
    case "string":
      return { kind: textKind(schema), options: [] };
    case "number":
    case "integer":
    case "boolean":
      return { kind: schema["type"], options: [] };
    case "array": {
      const each = isSchema(schema["items"]) ? optionsOf(schema["items"]) : undefined;
      return each === undefined ? { kind: "json", options: [] } : { kind: "choices", options: each };
    }
    default:
      return { kind: "json", options: [] };
  }
}

function textKind({ format, maxLength }: Schema): FieldKind {
  const kind = typeof format === "string" ? textKinds[format] : undefined;
  if (kind !== undefined) return kind;
  return typeof maxLength === "number" && maxLength > longText ? "long text" : "text";
}

/** `enum`, with names in `enumNames`, or constants with titles. */
function optionsOf(schema: Schema): readonly FieldOption[] | undefined {
  const { enum: values, enumNames } = schema;
  if (Array.isArray(values)) {
    const names = Array.isArray(enumNames) ? (enumNames as readonly unknown[]) : [];
    return values.map((value: unknown, place) => optionOf(value, names[place]));
  }
  const titled = schema["oneOf"] ?? schema["anyOf"];
  if (!Array.isArray(titled)) return undefined;
  const constants = (titled as readonly unknown[]).filter(isSchema).filter((each) => "const" in each);
  if (constants.length === 0 || constants.length < titled.length) return undefined;
  return constants.map((each) => optionOf(each["const"], each["title"]));
}

function optionOf(value: unknown, title: unknown): FieldOption {
  if (typeof title === "string" && title !== "") return { value, title };
  return { value, title: typeof value === "string" ? value : JSON.stringify(value) };
}

function initialOf(given: unknown, { kind, options }: Shape): FieldValue {
  const placeOf = (value: unknown): string => {
    const text = JSON.stringify(value);
    const place = options.findIndex((option) => JSON.stringify(option.value) === text);
    return place === -1 ? "" : String(place);
  };
  switch (kind) {
    case "boolean":
      return given === true;
    case "choice":
      return given === undefined ? "" : placeOf(given);
    case "choices":
      return Array.isArray(given) ? given.map(placeOf).filter((place) => place !== "") : [];
    case "json":
      return given === undefined ? "" : JSON.stringify(given, null, 2);
    default:
      return typeof given === "string" || typeof given === "number" ? String(given) : "";
  }
}

function hintOf(schema: Schema, kind: FieldKind): string | undefined {
  const { minLength, maxLength, pattern, minimum, maximum, minItems, maxItems } = schema;
  if (kind === "choices") return rangeText(minItems, maxItems, " choices");
  if (kind === "number" || kind === "integer") return rangeText(minimum, maximum, "");
  if (kind === "json") return "As JSON.";
  if (kind !== "text" && kind !== "long text") return undefined;
  const length = rangeText(minLength, maxLength, " characters");
  const form = typeof pattern === "string" ? `Must match ${pattern}` : undefined;
  return [length, form].filter((text) => text !== undefined).join(" ") || undefined;
}

function rangeText(least: unknown, most: unknown, unit: string): string | undefined {
  const [from, to] = [numberIn(least), numberIn(most)];
  if (from !== undefined && to !== undefined)
    return from === to ? `${from}${unit}.` : `${from} to ${to}${unit}.`;
  if (from !== undefined) return `At least ${from}${unit}.`;
  return to === undefined ? undefined : `At most ${to}${unit}.`;
}

function numberIn(value: unknown): number | undefined {
  return typeof value === "number" ? value : undefined;
}

function isSchema(value: unknown): value is Schema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
