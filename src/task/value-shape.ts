/** Shapes of values whose types nobody has checked. */

/** The first member that does not fit, and what it may be. */
interface Misfit {
  readonly path: string;
  readonly found: unknown;
  readonly allowed: string;
}

export type Shape = (value: unknown) => Misfit | undefined;

export type MembersOf<T> = { readonly [M in keyof T]-?: Shape };

function shape(allowed: string, fits: (value: unknown) => boolean): Shape {
  return (found) => (fits(found) ? undefined : { path: "", found, allowed });
}

export function orNull(inner: Shape): Shape {
  return (value) => (value === null ? undefined : alsoAllowed(inner(value), "null"));
}

export function optional(inner: Shape): Shape {
  return (value) => (value === undefined ? undefined : alsoAllowed(inner(value), "left out"));
}

function alsoAllowed(misfit: Misfit | undefined, other: string): Misfit | undefined {
  return misfit?.path === "" ? { ...misfit, allowed: `${misfit.allowed}, or ${other}` } : misfit;
}

export function oneOf(values: readonly string[]): Shape {
  const known: ReadonlySet<unknown> = new Set(values);
  return shape(`one of ${values.map((each) => `"${each}"`).join(", ")}`, (value) => known.has(value));
}

export function listOf(inner: Shape): Shape {
  return (value) => {
    if (!Array.isArray(value)) return { path: "", found: value, allowed: "a list" };
    for (let index = 0; index < value.length; index++) {
      const misfit = inner(value[index]);
      if (misfit !== undefined) return below(`[${index}]`, misfit);
    }
    return undefined;
  };
}

export function members<T>(shapes: MembersOf<T>): Shape {
  const each = Object.entries<Shape>(shapes);
  return (value) => {
    if (typeof value !== "object" || value === null) return { path: "", found: value, allowed: "an object" };
    for (const [name, inner] of each) {
      const misfit = inner((value as Readonly<Record<string, unknown>>)[name]);
      if (misfit !== undefined) return below(`.${name}`, misfit);
    }
    return undefined;
  };
}

function below(step: string, misfit: Misfit): Misfit {
  return { ...misfit, path: `${step}${misfit.path}` };
}

export const text = shape("a text", (value) => typeof value === "string");
export const flag = shape("true or false", (value) => typeof value === "boolean");
export const yes = optional(shape("true", (value) => value === true));
export const number = shape("a number", (value) => typeof value === "number" && !Number.isNaN(value));
/** Times, durations and counts. Infinite ones become the last that can be stored. */
export const whole = shape(
  "a whole number",
  (value) => typeof value === "number" && (Number.isInteger(value) || Math.abs(value) === Infinity),
);
export const name = shape(
  "a text or a number",
  (value) => typeof value === "string" || Number.isFinite(value),
);
export const json = shape("an object of plain JSON data", (value) => {
  try {
    return typeof value === "object" && value !== null && JSON.stringify(value) !== undefined;
  } catch {
    return false;
  }
});

export const texts = listOf(text);
export const wholeOrNull = orNull(whole);
export const textOrNull = orNull(text);
