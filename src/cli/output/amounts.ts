const units = ["KiB", "MiB", "GiB", "TiB"] as const;

/** A number of bytes for people: `512 bytes`, `1.5 MiB`. */
export function sizeText(bytes: number): string {
  if (bytes < 1024) return `${bytes} ${bytes === 1 ? "byte" : "bytes"}`;
  const power = Math.min(Math.floor(Math.log2(bytes) / 10), units.length);
  return `${(bytes / 1024 ** power).toFixed(1)} ${units[power - 1] ?? ""}`;
}

/** `1 task`, `12 tasks` */
export function tasksText(count: number): string {
  return `${count} ${count === 1 ? "task" : "tasks"}`;
}
