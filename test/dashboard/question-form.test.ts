import { describe, expect, it } from "vitest";
import { fieldsOf, type FormField } from "../../dashboard/src/pages/task/questions/form-fields.ts";
import { contentOf, initialValues, readJson } from "../../dashboard/src/pages/task/questions/form-content.ts";

const schema = {
  type: "object",
  properties: {
    name: { type: "string", title: "Your name", description: "As on the door", minLength: 2, maxLength: 40 },
    mail: { type: "string", format: "email" },
    site: { type: "string", format: "uri" },
    day: { type: "string", format: "date", default: "2026-11-23" },
    at: { type: "string", format: "date-time", default: "2026-11-23T20:00:00Z" },
    code: { type: "string", pattern: "^[A-Z]{3}$" },
    story: { type: "string", maxLength: 5_000 },
    weight: { type: "number", minimum: 0.5 },
    count: { type: "integer", minimum: 1, maximum: 9, default: 3 },
    sure: { type: "boolean", default: true },
    size: { type: "string", enum: ["s", "m"], enumNames: ["Small", "Medium"], default: "m" },
    colour: { type: "string", oneOf: [{ const: "#f00", title: "Red" }, { const: "#00f" }] },
    tags: {
      type: "array",
      items: { anyOf: [{ const: "a", title: "Alpha" }, { const: "b" }] },
      minItems: 1,
      maxItems: 2,
      default: ["b", "unknown"],
    },
    nested: { type: "object", default: { x: 1 } },
  },
  required: ["name", "count"],
};

function fields(given: unknown = schema): readonly FormField[] {
  const found = fieldsOf(given);
  if (found === undefined) throw new Error("It has fields.");
  return found;
}

const named = (name: string): FormField | undefined => fields().find((field) => field.name === name);

describe("the fields of a question", () => {
  it("are of the kinds that its schema asks for", () => {
    expect(Object.fromEntries(fields().map(({ name, kind }) => [name, kind]))).toEqual({
      name: "text",
      mail: "email",
      site: "url",
      day: "date",
      at: "time",
      code: "text",
      story: "long text",
      weight: "number",
      count: "integer",
      sure: "boolean",
      size: "choice",
      colour: "choice",
      tags: "choices",
      nested: "json",
    });
  });

  it("say what they are called, what is needed, and what is accepted", () => {
    expect(named("name")).toMatchObject({
      title: "Your name",
      description: "As on the door",
      isRequired: true,
      hint: "2 to 40 characters.",
    });
    expect(named("mail")).toMatchObject({ title: "mail", isRequired: false, hint: undefined });
    expect(named("code")?.hint).toBe("Must match ^[A-Z]{3}$");
    expect(named("weight")?.hint).toBe("At least 0.5.");
    expect(named("tags")?.hint).toBe("1 to 2 choices.");
  });

  it("name options by their titles", () => {
    const titles = (name: string): unknown => named(name)?.options.map(({ title }) => title);
    expect(titles("size")).toEqual(["Small", "Medium"]);
    expect(titles("colour")).toEqual(["Red", "#00f"]);
    expect(titles("tags")).toEqual(["Alpha", "b"]);
  });

  it("are none where something else than an object is asked for", () => {
    expect(fieldsOf(undefined)).toBeUndefined();
    expect(fieldsOf({ type: "array" })).toBeUndefined();
    expect(fieldsOf({ type: "object", properties: 5 })).toBeUndefined();
    expect(fieldsOf({ type: "object" })).toEqual([]);
  });

  it("take whatever is no schema as JSON", () => {
    expect(
      fields({ properties: { a: null, b: { type: ["string", "null"] }, c: { type: "array" } } }),
    ).toEqual([
      expect.objectContaining({ name: "a", kind: "json" }),
      expect.objectContaining({ name: "b", kind: "json" }),
      expect.objectContaining({ name: "c", kind: "json" }),
    ]);
  });
});

describe("the content of an answer", () => {
  it("begins with the defaults", () => {
    const { content, problems } = contentOf(fields(), new Map(initialValues(fields())).set("name", "Ada"));
    expect(problems.size).toBe(0);
    expect(content).toEqual({
      name: "Ada",
      day: "2026-11-23",
      at: "2026-11-23T20:00:00.000Z",
      count: 3,
      sure: true,
      size: "m",
      tags: ["b"],
      nested: { x: 1 },
    });
  });

  it("has what was typed as what the schema asks for", () => {
    const typed = new Map([
      ...initialValues(fields()),
      ["name", "Ada"],
      ["weight", "2.50"],
      ["count", "7"],
      ["sure", false],
      ["colour", "0"],
      ["tags", ["1", "0"]],
      ["nested", "[1]"],
    ] as const);
    expect(contentOf(fields(), typed).content).toMatchObject({
      weight: 2.5,
      count: 7,
      sure: false,
      colour: "#f00",
      tags: ["a", "b"],
      nested: [1],
    });
  });

  it("says of each field why it cannot be sent", () => {
    const typed = new Map([
      ["weight", "heavy"],
      ["count", "1.5"],
      ["nested", "{"],
      ["at", "soon"],
    ]);
    const { problems } = contentOf(fields(), typed);
    expect(Object.fromEntries(problems)).toEqual({
      name: "This field is required.",
      weight: "Enter a number.",
      count: "Enter a whole number.",
      nested: expect.stringMatching(/^This is not valid JSON: /),
      at: "Enter a date and a time.",
    });
  });

  it("leaves out what is empty, but for lists that are needed", () => {
    const two = { type: "array", items: { enum: ["x"] } };
    const both = fields({
      properties: { one: two, other: two, text: { type: "string" } },
      required: ["one"],
    });
    expect(contentOf(both, initialValues(both)).content).toEqual({ one: [] });
  });

  it("takes properties of any name", () => {
    const odd = fields(JSON.parse('{"properties":{"__proto__":{"type":"string"}}}'));
    const { content } = contentOf(odd, new Map([["__proto__", "x"]]));
    expect(Object.entries(content)).toEqual([["__proto__", "x"]]);
  });

  it("can be any JSON", () => {
    expect(readJson('{"a":1}')).toEqual({ value: { a: 1 } });
    expect(readJson("nothing")).toMatchObject({ problem: expect.stringMatching(/JSON/) });
  });
});
