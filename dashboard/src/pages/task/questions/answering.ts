/** How to answer a question. */
export interface Answering {
  /** The question's key. */
  readonly name: string;
  /** Rejects with the reason why the answer was refused. */
  readonly answer: (result: unknown) => Promise<void>;
  /** Called while the user types. */
  readonly onTyped: () => void;
}
