/** Whether one of the patterns is the name; `*` stands for any characters. */
export function isNamed(name: string, patterns: readonly string[]): boolean {
  return patterns.some((pattern) => {
    const parts = pattern.split("*").map((part) => part.replaceAll(/[\\^$.+?()[\]{}|]/g, "\\$&"));
    return new RegExp(`^${parts.join(".*")}$`, "su").test(name);
  });
}
