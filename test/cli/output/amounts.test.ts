import { expect, it } from "vitest";
import { sizeText } from "../../../src/cli/output/table.ts";

it.each([
  [0, "0 bytes"],
  [1, "1 byte"],
  [1023, "1023 bytes"],
  [1024, "1.0 KiB"],
  [1536, "1.5 KiB"],
  [5 * 1024 ** 2, "5.0 MiB"],
  [3 * 1024 ** 5, "3072.0 TiB"],
])("shows %i bytes as %s", (bytes, text) => {
  expect(sizeText(bytes)).toBe(text);
});
