import { expect, it } from "vitest";
import { inHeader, inPath, inQuery, readParameter } from "../../../src/serve/openapi/parameters.ts";

const list = ["blue", "black"];
const object = { R: 100, G: 200 };

/** The examples of OpenAPI 3.1, section 4.8.12.6, and what has a meaning in addresses. */
it.each([
  ["path", "simple", false, list, "blue,black"],
  ["path", "simple", false, object, "R,100,G,200"],
  ["path", "simple", true, object, "R=100,G=200"],
  ["path", "label", false, "blue", ".blue"],
  ["path", "label", true, list, ".blue.black"],
  ["path", "label", true, object, ".R=100.G=200"],
  ["path", "matrix", false, list, ";color=blue,black"],
  ["path", "matrix", true, list, ";color=blue;color=black"],
  ["path", "matrix", true, object, ";R=100;G=200"],
  ["path", "simple", false, "a/b?c#d", "a%2Fb%3Fc%23d"],
  ["query", "form", true, list, "color=blue&color=black"],
  ["query", "form", false, list, "color=blue,black"],
  ["query", "form", true, object, "R=100&G=200"],
  ["query", "form", false, object, "color=R,100,G,200"],
  ["query", "spaceDelimited", false, list, "color=blue%20black"],
  ["query", "pipeDelimited", false, list, "color=blue%7Cblack"],
  ["query", "deepObject", true, object, "color[R]=100&color[G]=200"],
  ["query", "form", true, "a&b=c", "color=a%26b%3Dc"],
  ["query", "form", true, true, "color=true"],
  ["header", "simple", false, list, "blue,black"],
  ["header", "simple", true, object, "R=100,G=200"],
] as const)("writes a parameter in the %s as %s (explode %s)", (place, style, explode, value, expected) => {
  const parameter = readParameter({ name: "color", in: place, style, explode }, "color");
  const written =
    place === "path"
      ? inPath(parameter, value)
      : place === "header"
        ? inHeader(parameter, value)
        : inQuery(parameter, value).join("&");
  expect(written).toBe(expected);
});

it("writes a parameter of JSON, and refuses what it does not know", () => {
  const json = readParameter({ name: "filter", in: "query", content: { "application/json": {} } }, "filter");
  expect(inQuery(json, { a: [1] })).toEqual(["filter=%7B%22a%22%3A%5B1%5D%7D"]);
  expect(() => readParameter({ name: "x", in: "query", style: "odd" }, "x")).toThrow('style "odd"');
  expect(() => readParameter({ name: "x", in: "query", content: { "text/csv": {} } }, "x")).toThrow(
    "text/csv",
  );
  expect(() => readParameter({ name: "x", in: "body" }, "x")).toThrow("no place that is known");
});
