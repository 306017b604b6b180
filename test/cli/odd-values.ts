import fc from "fast-check";

/** A value that nobody expects; `undefined` for one that is missing. */
export const oddValue = fc.oneof(
  fc.constantFrom<unknown>(
    undefined,
    null,
    "",
    "x",
    0,
    -1,
    1.5,
    true,
    [],
    {},
    [null],
    [[]],
    { type: 7 },
    "\u001b[31m",
    "a".repeat(300),
  ),
  fc.jsonValue({ maxDepth: 2 }),
);

/** What no terminal may get. */
export const controls = /[^\P{Cc}\t\n]/u;

/** The answer with another value at one place. */
export function changed(answer: unknown, [step, ...rest]: readonly number[], value: unknown): unknown {
  if (step === undefined || typeof answer !== "object" || answer === null) return value;
  const keys = Object.keys(answer);
  const key = keys[step % Math.max(1, keys.length)];
  if (key === undefined) return value;
  const inner = changed((answer as Record<string, unknown>)[key], rest, value);
  if (Array.isArray(answer))
    return answer.map((each: unknown, place) => (String(place) === key ? inner : each));
  return { ...answer, [key]: inner };
}
