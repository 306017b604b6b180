/** Whether an endpoint of operators can be served at a path: a request comes with it as it is, and its routes stand below it. */
export function isOperatorPath(path: string): boolean {
  return /^(?:\/[\w.~-]+)+$/.test(path) && new URL(path, "http://localhost").pathname === path;
}
