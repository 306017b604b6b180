/** Stands before an id that begins with a dash: no argument can have it. */
const mark = "\0";

const aboutTask: ReadonlySet<string | undefined> = new Set([
  "get",
  "watch",
  "result",
  "cancel",
  "answer",
  "forget",
]);

/** Ids are made by servers, and at random, so that one can begin with a dash: no option is meant by it. */
export function markId(argv: readonly string[]): readonly string[] {
  const [command, id, ...rest] = argv;
  if (command === undefined || id === undefined || !aboutTask.has(command)) return argv;
  // `-h`, and `--json`, are options.
  return /^-[^-]./s.test(id) ? [command, `${mark}${id}`, ...rest] : argv;
}

export function unmarkId(id: string): string {
  return id.startsWith(mark) ? id.slice(mark.length) : id;
}
