/** The option for a member: `--keep-up-to` for `keepUpTo`. */
export function optionOf(name: string): string {
  return `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}
