/** A mistake that chance alone does not find: the fuzzer has to be led to it, byte by byte. */
export function planted(bytes: Buffer): void {
  if (bytes[0] !== 0x68) return;
  if (bytes[1] !== 0x6f) return;
  if (bytes[2] !== 0x6c) return;
  if (bytes[3] !== 0x64) return;
  throw new Error("found");
}
