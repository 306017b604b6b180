import { useState } from "preact/hooks";

export interface Acting {
  readonly isBusy: boolean;
  /** The error if the last one failed. */
  readonly error: Error | undefined;
  /** Runs an action; resolves with whether it succeeded. One runs at a time. */
  readonly run: (act: () => Promise<unknown>) => Promise<boolean>;
}

/** An action on the server, whose error is shown next to its control. */
export function useAct(): Acting {
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<Error>();
  const run = async (act: () => Promise<unknown>): Promise<boolean> => {
    if (isBusy) return false;
    setBusy(true);
    setError(undefined);
    try {
      await act();
      return true;
    } catch (problem) {
      setError(problem instanceof Error ? problem : new Error(String(problem)));
      return false;
    } finally {
      setBusy(false);
    }
  };
  return { isBusy, error, run };
}
