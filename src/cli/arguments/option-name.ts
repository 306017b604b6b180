/** The option for a member: `--keep-up-to` for `keepUpTo`. */
export function optionOf(name: string): string {
  return `--${wordOf(name)}`;
}

/** The command of an operation: `end-session` for `endSession`. */
export function wordOf(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}
