/** 1234 → "1,234", the same on every machine. */
export function count(n: number): string {
  return n.toLocaleString("en-US");
}

/** "1 file", "1,234 files". */
export function counted(n: number, one: string, many = `${one}s`): string {
  return `${count(n)} ${n === 1 ? one : many}`;
}

const units = ["bytes", "KiB", "MiB", "GiB", "TiB"] as const;

/** 1536 → "1.5 KiB". */
export function size(bytes: number): string {
  const power = bytes < 1024 ? 0 : Math.min(Math.floor(Math.log2(bytes) / 10), units.length - 1);
  const inUnit = Math.round((bytes / 1024 ** power) * 10) / 10;
  return `${count(inUnit)} ${units[power] ?? "bytes"}`;
}

/** A name as one line of text: a file's name may hold line breaks and what moves a terminal's cursor. */
export function printable(name: string): string {
  return name.replace(/\p{Cc}|\p{Cf}|[\u2028\u2029]/gu, "?");
}
