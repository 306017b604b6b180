import { UsageError } from "../usage-error.ts";

const reference = /\$\{(?:env:)?(?<name>[A-Za-z_]\w*)(?::-(?<otherwise>[^}]*))?\}/g;

/**
 * Fills in variables of the environment as hosts do: `${NAME}`, `${env:NAME}`, and `${NAME:-default}` for one that may be
 * missing. `where` names the place in what is thrown about a variable that is not set.
 */
export function expandVariables(
  text: string,
  env: Readonly<Record<string, string | undefined>>,
  where: string,
): string {
  return text.replace(reference, (_, name: string, otherwise: string | undefined) => {
    const value = env[name];
    if (value !== undefined && (value !== "" || otherwise === undefined)) return value;
    if (otherwise !== undefined) return otherwise;
    throw new UsageError(`${where} needs the environment variable ${name}, which is not set.`);
  });
}
