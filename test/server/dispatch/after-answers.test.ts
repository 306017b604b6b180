import { expect, it } from "vitest";
import { AfterAnswers } from "../../../src/server/dispatch/dispatch-transport.ts";

it("reports once what became of an answer", () => {
  const after = new AfterAnswers();
  const ends: string[] = [];
  for (const name of ["a", "b", "c"]) after.add(name === "c" ? 2 : 1, (end) => ends.push(`${name} ${end}`));
  after.end(1, "sent");
  after.end(1, "lost");
  after.add(3, (end) => ends.push(`d ${end}`));
  after.sending(3); // a transport that closes on its answer
  after.close();
  after.add(4, (end) => ends.push(`e ${end}`));
  expect(ends).toEqual(["a sent", "b sent", "c lost", "d sent", "e lost"]);
});
