/** A command's access to the world; the entry point provides it. */
export interface Io {
  readonly stdin: NodeJS.ReadStream;
  readonly stdout: NodeJS.WriteStream;
  readonly stderr: NodeJS.WriteStream;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The working directory, against which relative paths are resolved. */
  readonly cwd: string;
  /** The file of this program, for processes that it starts. */
  readonly program?: string;
  /** Epoch milliseconds. */
  readonly now: () => number;
}
