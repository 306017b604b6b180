import { expect, it } from "vitest";
import { cells } from "./cells.ts";

const dimensions = { end: ["completed", "cancelled"], side: ["server", "client"] } as const;

it("tries every combination that no reason rules out", () => {
  const impossible = [{ where: { end: ["cancelled"], side: ["client"] }, reason: "Has no cancel." }] as const;
  expect(cells(dimensions, impossible)).toEqual([
    { end: "completed", side: "server" },
    { end: "completed", side: "client" },
    { end: "cancelled", side: "server" },
  ]);
});

it("takes no reason that rules out nothing, nor two for one cell", () => {
  const client = { where: { side: ["client"] }, reason: "Has none." } as const;
  const cancelled = { where: { end: ["cancelled"] }, reason: "Is none." } as const;
  expect(() => cells(dimensions, [client, cancelled])).toThrow("Two reasons");
  expect(() => cells({ ...dimensions, side: ["server"] }, [client as never])).toThrow("Rules out no cell");
});
