import type { Role } from "../runtime/options.ts";
import type { Kind } from "./kind.ts";

/** Text that is taken unchanged. */
export function textKind(takes: string, isOne: (text: string) => boolean = () => true): Kind<string> {
  return { takes, read: (text) => (isOne(text) ? text : undefined) };
}

export const switchKind: Kind<boolean> = {
  takes: "`true` or `false`",
  read: (text) => (text === "true" ? true : text === "false" ? false : undefined),
};

/** Comma-separated names, each read by `readOne`, which returns undefined for an invalid one. */
export function listKind<T extends string>(
  of: string,
  readOne: (name: string) => T | undefined,
): Kind<readonly T[]> {
  const read = (text: string): readonly T[] | undefined => {
    const names = namesIn(text)?.map(readOne);
    return names?.every((name) => name !== undefined) === true ? names : undefined;
  };
  return { takes: `${of}, with commas between them`, read };
}

/** What `kind` takes, or `true` or `false`. */
export function orSwitch<T>(kind: Kind<T>): Kind<T | boolean> {
  return {
    ...kind,
    takes: `${switchKind.takes}, or ${kind.takes}`,
    read: (text) => switchKind.read(text) ?? kind.read(text),
  };
}

/** What `kind` takes, or the word `any`. */
export function orAny<T>(kind: Kind<T>): Kind<T | "any"> {
  return {
    ...kind,
    takes: `${kind.takes}, or \`any\``,
    read: (text) => (text === "any" ? "any" : kind.read(text)),
  };
}

export const rolesKind: Kind<readonly Role[]> = {
  takes: "`serve`, `work`, or `serve,work`",
  read: (text) => {
    const names = namesIn(text) ?? [];
    const roles = names.filter((name) => name === "serve" || name === "work");
    return roles.length > 0 && roles.length === names.length ? roles : undefined;
  },
};

function namesIn(text: string): readonly string[] | undefined {
  const names = text.split(",").map((name) => name.trim());
  return names.includes("") ? undefined : names;
}
