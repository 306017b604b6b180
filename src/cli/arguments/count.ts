import { InvalidArgumentError } from "commander";

/** A number of things, as an option gives it. */
export function countOf(text: string): number {
  const number = Number(text);
  if (!Number.isSafeInteger(number) || number < 1)
    throw new InvalidArgumentError("It must be a whole number, 1 or more.");
  return number;
}
