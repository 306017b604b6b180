import { inThisContext } from "./own-context.ts";

/** Receives faults that no caller sees. */
export type OnError = (error: unknown) => void;

/**
 * Makes the operator's `onError` safe: if it throws, or returns a promise that rejects, both errors go to stderr. Without it, errors go to
 * stderr.
 */
export function errorReporter(onError: ((error: unknown) => unknown) | undefined): OnError {
  if (onError === undefined) return print;
  const report = inThisContext(onError);
  return (error) => {
    const failed = (thrown: unknown): void => {
      print(error);
      print("onError itself failed while reporting this error:", thrown);
    };
    try {
      Promise.resolve(report(error)).catch(failed);
    } catch (thrown) {
      failed(thrown);
    }
  };
}

function print(...words: readonly unknown[]): void {
  console.error("holdfast:", ...words);
}
