/**
 * The limits of a program, by their names, so that the compiler knows them. As long as it is empty, a limit can have any name.
 *
 * ```ts
 * export const limits = { search: { concurrency: 4, perMinute: 60 } };
 *
 * declare module "holdfast" {
 *   interface KnownLimits extends Record<keyof typeof limits, unknown> {}
 * }
 * ```
 */
// oxlint-disable-next-line no-empty-interface, no-empty-object-type -- programs add to it
export interface KnownLimits {}

type Known = Extract<keyof KnownLimits, string>;

/** The names that limits can have. */
export type DeclaredLimit = [Known] extends [never] ? string : Known;

/**
 * A limit by its name, or by its name and a key of your own: each key is counted for itself, as for the accounts of customers with a
 * service, and all have the numbers of the name.
 */
export type LimitName = DeclaredLimit | readonly [name: DeclaredLimit, ...key: (string | number)[]];
