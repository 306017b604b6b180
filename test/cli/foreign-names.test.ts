import { describe, expect, it } from "vitest";
import { exampleArguments } from "../../src/cli/command/tools.ts";
import { follow, readInputSchema } from "../../src/cli/arguments/input-schema.ts";
import { completeArguments } from "../../src/cli/arguments/parse-arguments.ts";
import { fileName } from "../../src/cli/output/save-content.ts";
import { showResultFor } from "../../src/cli/output/show-content.ts";
import { expandVariables } from "../../src/cli/server/host-config.ts";

describe.each(["constructor", "toString", "__proto__"])(
  "the name %s, which every object inherits",
  (name) => {
    const json = JSON.stringify(name);

    it("is a MIME type like any unknown one", () => {
      expect(fileName("report.txt", name, "text")).toEqual({ stem: "report", ending: "txt" });
      expect(fileName("report", name, "text")).toEqual({ stem: "report", ending: "" });
    });

    it("is no part of a schema", () => {
      expect(follow({ $ref: `#/${name}` }, { type: "object" })).toEqual({});
      expect(follow({ $ref: `#/$defs/${name}/name` }, { $defs: {} })).toEqual({});
    });

    it("is an argument with a default like any other", () => {
      const schema = JSON.parse(
        `{"type":"object","properties":{${json}:{"type":"object","default":{"a":1}}},"required":[${json}]}`,
      ) as object;
      const args = completeArguments({}, readInputSchema({ ...schema }));
      expect(JSON.stringify(args)).toBe(`{${json}:{"a":1}}`);
      expect(Object.getPrototypeOf(args)).toBe(Object.prototype);
    });

    it("is a format like any unknown one", () => {
      const properties = { a: { type: "string", format: name } };
      const schema = { type: "object", properties, required: ["a"] };
      expect(exampleArguments(schema)).toEqual(
        exampleArguments({ ...schema, properties: { a: { type: "string" } } }),
      );
    });

    it("is a variable that is not set", () => {
      expect(expandVariables(`\${${name}:-none}`, {}, "here")).toBe("none");
      expect(() => expandVariables(`\${${name}}`, {}, "here")).toThrow(
        `needs the environment variable ${name}`,
      );
    });

    it("is a column that another row lacks", () => {
      const rows = JSON.parse(`[{${json}:"x","n":1},{"n":2}]`) as object[];
      const { text } = showResultFor({ content: [], structuredContent: { result: rows } }, 80) ?? {
        text: "",
      };
      expect(text).toContain(name);
      expect(text).not.toMatch(/native|function|\{/);
    });
  },
);
