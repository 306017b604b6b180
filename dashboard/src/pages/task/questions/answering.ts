/** How a question is answered. */
export interface Answering {
  /** Of the question. */
  readonly name: string;
  /** Rejects with why the answer was refused. */
  readonly answer: (result: unknown) => Promise<void>;
  /** Called as somebody types. */
  readonly onTyped: () => void;
}
