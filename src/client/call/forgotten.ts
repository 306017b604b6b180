/**
 * Why a call that may have arrived cannot be sent again so long after it was sent first; undefined where it can. A
 * server recognises a call for as long as it keeps its task, and runs it again after that.
 */
export function forgotten(ageMs: number, recognisedMs: number): string | undefined {
  if (ageMs <= recognisedMs) return undefined;
  return (
    `The call's answer never came, and it was sent ${ageMs} ms ago: ` +
    `the server may have forgotten it after ${recognisedMs} ms, and would run it again`
  );
}
