export const taskPath = (id: string): string => `/tasks/${encodeURIComponent(id)}`;

/** The id in the path of a task's page; undefined for any other path, and for one that cannot be decoded. */
export function taskIdIn(path: string): string | undefined {
  const [, id] = /^\/tasks\/([^/]+)$/.exec(path) ?? [];
  try {
    return id === undefined ? undefined : decodeURIComponent(id);
  } catch {
    return undefined;
  }
}
