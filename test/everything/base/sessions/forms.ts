/** Two required texts. */
export const personForm = {
  type: "object" as const,
  properties: {
    username: { type: "string" as const, description: "User's response" },
    email: { type: "string" as const, description: "User's email address" },
  },
  required: ["username", "email"],
};

/** A default for every primitive type. */
export const defaultsForm = {
  type: "object" as const,
  properties: {
    name: { type: "string" as const, description: "User name", default: "John Doe" },
    age: { type: "integer" as const, description: "User age", default: 30 },
    score: { type: "number" as const, description: "User score", default: 95.5 },
    status: {
      type: "string" as const,
      description: "User status",
      enum: ["active", "inactive", "pending"],
      default: "active",
    },
    verified: { type: "boolean" as const, description: "Verification status", default: true },
  },
};

const titled = [
  { const: "value1", title: "First Option" },
  { const: "value2", title: "Second Option" },
  { const: "value3", title: "Third Option" },
];

/** One choice or several, with titles and without, and the older way to give titles. */
export const enumsForm = {
  type: "object" as const,
  properties: {
    untitledSingle: {
      type: "string" as const,
      description: "Select one option",
      enum: ["option1", "option2", "option3"],
    },
    titledSingle: { type: "string" as const, description: "Select one option with titles", oneOf: titled },
    legacyEnum: {
      type: "string" as const,
      description: "Select one option, with titles beside it",
      enum: ["opt1", "opt2", "opt3"],
      enumNames: ["Option One", "Option Two", "Option Three"],
    },
    untitledMulti: {
      type: "array" as const,
      description: "Select several options",
      minItems: 1,
      maxItems: 3,
      items: { type: "string" as const, enum: ["option1", "option2", "option3"] },
    },
    titledMulti: {
      type: "array" as const,
      description: "Select several options with titles",
      minItems: 1,
      maxItems: 3,
      items: { anyOf: titled },
    },
  },
};
