import { useState } from "preact/hooks";

export interface Acting {
  readonly isBusy: boolean;
  /** Why the last one failed. */
  readonly error: Error | undefined;
  /** Does something; resolves to whether that was done. One runs at a time. */
  readonly run: (act: () => Promise<unknown>) => Promise<boolean>;
}

/** Something that is done on the server, whose refusal is shown where it was asked for. */
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
